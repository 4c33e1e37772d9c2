; Facts for the code graph (links.py).
(member_access_expression expression: (_) @recv)
(conditional_access_expression condition: (_) @recv)
(qualified_name qualifier: (_) @recv)
(parameter) @bind
(variable_declaration) @bind
(property_declaration) @bind
(foreach_statement) @bind
(declaration_pattern) @bind
(method_declaration returns: (_) @returns)
(local_function_statement type: (_) @returns)
(base_list (_) @base)
(attribute_list) @mark
(namespace_declaration name: (_) @package)
(file_scoped_namespace_declaration name: (_) @package)
(assignment_expression left: [(identifier) @write (member_access_expression name: (identifier) @write)])
(type_parameter_constraints_clause) @bound
