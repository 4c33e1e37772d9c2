; Facts for the code graph (links.py).
(method_invocation object: (_) @recv)
(field_access object: (_) @recv)
(method_reference . (_) @recv)
(formal_parameter) @bind
(local_variable_declaration) @bind
(field_declaration) @bind
(enhanced_for_statement) @bind
(resource) @bind
(lambda_expression parameters: (identifier) @local)
(inferred_parameters (identifier) @local)
(method_declaration type: (_) @returns)
(superclass (_) @base)
(super_interfaces (type_list (_) @base))
(extends_interfaces (type_list (_) @base))
(marker_annotation) @mark
(annotation) @mark
(package_declaration [(scoped_identifier) (identifier)] @package)
(assignment_expression left: [(identifier) @write (field_access field: (identifier) @write)])
(type_parameter (type_bound)) @bound
