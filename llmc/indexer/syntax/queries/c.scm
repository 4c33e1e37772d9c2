(function_definition declarator: (function_declarator declarator: (identifier) @name.function)) @def
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name.function))) @def
(function_definition declarator: (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name.function)))) @def
(declaration declarator: (function_declarator declarator: (identifier) @name.prototype)) @def
(declaration declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name.prototype))) @def
(declaration declarator: (identifier) @name.variable) @def
(declaration declarator: (init_declarator declarator: [(identifier) @name.variable (pointer_declarator declarator: (identifier) @name.variable) (array_declarator declarator: (identifier) @name.variable)])) @def
(declaration declarator: (array_declarator declarator: (identifier) @name.variable)) @def
(struct_specifier name: (type_identifier) @name.struct body: (_)) @def
(union_specifier name: (type_identifier) @name.union body: (_)) @def
(enum_specifier name: (type_identifier) @name.enum body: (_)) @def
(enumerator name: (identifier) @name.constant) @def
(field_declaration declarator: [(field_identifier) @name.field (pointer_declarator declarator: (field_identifier) @name.field) (array_declarator declarator: (field_identifier) @name.field)]) @def
(type_definition declarator: [(type_identifier) @name.type (pointer_declarator declarator: (type_identifier) @name.type)]) @def
(type_definition declarator: (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name.type)))) @def
(type_definition type: (struct_specifier body: (_) @body) declarator: (type_identifier) @name.struct)
(type_definition type: [(struct_specifier) (union_specifier) (enum_specifier)] @not)
(preproc_def name: (identifier) @name.constant) @def
(preproc_function_def name: (identifier) @name.macro) @def
(comment) @lead

(call_expression function: [(identifier) @call (field_expression field: (_) @call)])
(type_identifier) @type
(preproc_include) @imports
(preproc_include path: (_) @from)
(identifier) @use
(field_identifier) @use
