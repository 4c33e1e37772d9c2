; Facts for the code graph (links.py).
(field_expression value: (_) @recv)
(scoped_identifier path: (_) @recv)
(scoped_type_identifier path: (_) @recv)
(let_declaration) @bind
(let_condition) @bind
(parameter) @bind
(field_declaration) @bind
(const_item) @bind
(static_item) @bind
(for_expression) @bind
(closure_parameters (identifier) @local)
(function_item return_type: (_) @returns)
(function_signature_item return_type: (_) @returns)
(impl_item trait: (_) @base)
(trait_item bounds: (trait_bounds (_) @base))
(attribute_item) @mark
(assignment_expression left: (field_expression field: (_) @write))
(type_parameter bounds: (_)) @bound
(where_predicate) @bound
