(jsx_opening_element name: [(identifier) @use (member_expression property: (_) @use)])
(jsx_self_closing_element name: [(identifier) @use (member_expression property: (_) @use)])
