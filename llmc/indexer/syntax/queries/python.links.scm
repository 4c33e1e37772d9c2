; Facts for the code graph (links.py): receivers, bindings, types, bases.
(attribute object: (_) @recv)
(assignment left: [(identifier) (attribute)]) @bind
(named_expression) @bind
(typed_parameter) @bind
(typed_default_parameter) @bind
(for_statement left: (identifier)) @bind
(for_in_clause left: (identifier)) @bind
(with_item value: (as_pattern) @bind)
(except_clause (as_pattern) @bind)
(parameters [(identifier) @local (default_parameter name: (identifier) @local) (list_splat_pattern (identifier) @local) (dictionary_splat_pattern (identifier) @local)])
(lambda_parameters [(identifier) @local (default_parameter name: (identifier) @local)])
(pattern_list (identifier) @local)
(tuple_pattern (identifier) @local)
(function_definition return_type: (type) @returns)
(return_statement [(call) (identifier) (attribute) (await)] @return)
(decorator) @mark
(class_definition superclasses: (argument_list [(identifier) (attribute) (subscript) (call)] @base))
(assignment left: (attribute attribute: (identifier) @write))
(assignment left: (pattern_list (attribute attribute: (identifier) @write)))
(augmented_assignment left: [(identifier) @write (attribute attribute: (identifier) @write)])
