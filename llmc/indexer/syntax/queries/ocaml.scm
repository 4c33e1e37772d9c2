(module_definition (module_binding (module_name) @name.module)) @def
(module_type_definition (module_type_name) @name.interface) @def
(type_binding name: (_) @name.type) @def
(exception_definition (constructor_declaration (constructor_name) @name.class)) @def
(constructor_declaration (constructor_name) @name.constant) @def
(field_declaration (field_name) @name.field) @def
(let_binding pattern: (value_name) @name.variable) @def
(let_binding pattern: (value_name) @name.function (parameter))
(let_binding pattern: (value_name) @name.function body: [(fun_expression) (function_expression)])
(value_specification (value_name) @name.function) @def
(external (value_name) @name.function) @def
(class_binding (class_name) @name.class) @def
(method_definition (method_name) @name.method) @def
(fun_expression) @closure
(function_expression) @closure
(comment) @lead

(application_expression function: (value_path (value_name) @call))
(infix_expression right: (value_path (value_name) @call))
(type_constructor_path (type_constructor) @type)
(open_module) @imports
(open_module module: (module_path) @import)
(include_module (module_path (module_name) @inherit .))
(value_name) @use
(module_name) @use
(constructor_name) @use
