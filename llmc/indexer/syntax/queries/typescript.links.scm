; inherits: ecma.links
(required_parameter) @bind
(optional_parameter) @bind
(public_field_definition) @bind
(property_signature) @bind
(function_declaration return_type: (_) @returns)
(function_signature return_type: (_) @returns)
(method_definition return_type: (_) @returns)
(method_signature return_type: (_) @returns)
(abstract_method_signature return_type: (_) @returns)
(arrow_function return_type: (_) @returns)
(extends_clause value: (_) @base)
(implements_clause (_) @base)
(extends_type_clause (_) @base)
(type_alias_declaration value: (_)) @alias.type
(type_parameter constraint: (_)) @bound
