; Facts for the code graph (links.py).
(selector_expression operand: (_) @recv)
(qualified_type package: (_) @recv)
(parameter_declaration) @bind
(variadic_parameter_declaration) @bind
(short_var_declaration) @bind
(var_spec) @bind
(field_declaration name: (_)) @bind
(range_clause) @bind
(assignment_statement) @bind
(function_declaration result: (_) @returns)
(method_declaration result: (_) @returns)
(method_elem result: (_) @returns)
(field_declaration !name type: (_) @base)
(type_elem (_) @base)
(package_clause (package_identifier) @package)
(assignment_statement left: (expression_list (selector_expression field: (_) @write)))
(send_statement channel: (_) @chan.send)
(unary_expression operator: "<-" operand: (_) @chan.receive)
(range_clause right: [(identifier) (selector_expression)] @chan.receive)
