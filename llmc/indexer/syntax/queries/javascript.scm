; inherits: ecma, jsx
(class_declaration name: (identifier) @name.class) @def
(field_definition property: (_) @name.field) @def
(field_definition property: (_) @name.method value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])
(class_heritage [(identifier) @inherit (member_expression property: (_) @inherit) (call_expression function: (_) @inherit)])
