(header module: (module) @path.module) @def
(data_type name: (name) @name.type) @def
(newtype name: (name) @name.type) @def
(type_synomym name: (name) @name.type) @def
(type_family name: (name) @name.type) @def
(class name: (name) @name.class) @def
(class declarations: (_) @body)
(instance name: (name) @name.instance) @def
(instance declarations: (_) @body)
(data_constructor constructor: [(prefix name: (constructor) @name.constant) (record name: (constructor) @name.constant)]) @def
(field name: (field_name (variable) @name.field)) @def
(signature name: (variable) @name.function) @def
(function name: (variable) @name.function) @def
(function (infix operator: (operator) @name.function)) @def
(bind name: (variable) @name.variable) @def
(declarations (bind name: (variable) @name.function))
(instance_declarations (bind name: (variable) @name.function))
(class_declarations (bind name: (variable) @name.function))
(comment) @lead
(haddock) @lead
(pragma) @lead

(instance name: (name) @inherit)
(deriving classes: [(name) @inherit (parens (name) @inherit) (tuple (name) @inherit)])
(apply function: [(variable) @call (constructor) @call (qualified id: (variable) @call)])
(infix operator: (infix_id [(variable) @call (qualified id: (variable) @call)]))
(name) @type

(import) @imports
(import module: (module) @from)
(import alias: (module) @alias)
(import_name variable: (variable) @import)
(import_name type: (name) @import)
(variable) @use
(constructor) @use
(module_id) @use
