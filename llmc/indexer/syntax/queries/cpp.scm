; inherits: c
(function_definition declarator: (function_declarator declarator: [(field_identifier) (destructor_name) (operator_name)] @name.method)) @def
(function_definition declarator: (function_declarator declarator: (qualified_identifier) @path.method)) @def
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (qualified_identifier) @path.method))) @def
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (field_identifier) @name.method))) @def
(function_definition declarator: (reference_declarator (function_declarator declarator: (qualified_identifier) @path.method))) @def
(function_definition declarator: (reference_declarator (function_declarator declarator: [(field_identifier) (operator_name)] @name.method))) @def
(function_definition declarator: (reference_declarator (function_declarator declarator: (identifier) @name.function))) @def
(field_declaration declarator: (function_declarator declarator: [(field_identifier) (destructor_name) (operator_name)] @name.method)) @def
(field_declaration declarator: (pointer_declarator declarator: (function_declarator declarator: (field_identifier) @name.method))) @def
(field_declaration declarator: (reference_declarator (function_declarator declarator: [(field_identifier) (operator_name)] @name.method))) @def
(declaration declarator: (function_declarator declarator: [(destructor_name) (operator_name)] @name.method)) @def
(class_specifier name: [(type_identifier) @name.class (template_type name: (_) @name.class) (qualified_identifier) @path.class] body: (_)) @def
(struct_specifier name: [(template_type name: (_) @name.struct) (qualified_identifier) @path.struct] body: (_)) @def
(namespace_definition name: (_) @path.module) @def
(alias_declaration name: (type_identifier) @name.type) @def
(concept_definition name: (identifier) @name.type) @def
(function_definition !type declarator: (function_declarator declarator: (identifier)
  parameters: (parameter_list . (parameter_declaration) . (parameter_declaration type: (type_identifier) @name.word)))) @try.gtest
(template_declaration parameters: (_) @deco)
(lambda_expression) @closure

(base_class_clause [(type_identifier) @inherit (template_type name: (_) @inherit) (qualified_identifier name: [(type_identifier) @inherit (template_type name: (_) @inherit)])])
(call_expression function: [(qualified_identifier name: [(identifier) @call (template_function name: (_) @call) (qualified_identifier name: [(identifier) @call (template_function name: (_) @call)])])
                            (template_function name: (_) @call) (field_expression field: (template_method name: (_) @call))])
(new_expression type: [(type_identifier) @call (qualified_identifier name: (_) @call) (template_type name: (_) @call)])
(using_declaration) @imports
(using_declaration (qualified_identifier) @import)
(namespace_identifier) @use
