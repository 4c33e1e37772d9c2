; Facts for the code graph (links.py).
(field_expression argument: (_) @recv)
(parameter_declaration) @bind
(declaration) @bind
(field_declaration) @bind
(function_definition type: (_) @returns)
(assignment_expression left: [(identifier) @write (field_expression field: (_) @write)])
