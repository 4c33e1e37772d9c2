; Facts for the code graph (links.py): receivers, bindings, types, bases, exports.
(member_expression object: (_) @recv)
(variable_declarator name: [(identifier) (object_pattern)]) @bind
(assignment_expression left: [(identifier) (member_expression)]) @bind
(for_in_statement left: (identifier)) @bind
(arrow_function parameter: (identifier) @local)
(catch_clause parameter: (identifier) @local)
(object_pattern (shorthand_property_identifier_pattern) @local)
(object_pattern (pair_pattern value: (identifier) @local))
(array_pattern (identifier) @local)
(rest_pattern (identifier) @local)
(return_statement [(call_expression) (new_expression) (identifier) (member_expression) (this) (await_expression)] @return)
(arrow_function body: [(call_expression) (new_expression) (identifier) (member_expression) (await_expression)] @return)
(export_statement !source) @export
(assignment_expression left: (member_expression property: (_) @write))
(augmented_assignment_expression left: [(identifier) @write (member_expression property: (_) @write)])
(switch_case value: (string) @label)
