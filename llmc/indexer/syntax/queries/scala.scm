(package_clause name: (package_identifier) @path.module) @def
(class_definition name: (identifier) @name.class) @def
(object_definition name: (identifier) @name.object) @def
(trait_definition name: (identifier) @name.trait) @def
(enum_definition name: (identifier) @name.enum) @def
(package_object name: (identifier) @name.object) @def
(simple_enum_case name: (identifier) @name.constant) @def
(full_enum_case name: (identifier) @name.constant) @def
(function_definition name: (_) @name.function) @def
(function_declaration name: (_) @name.function) @def
(val_definition pattern: (identifier) @name.variable) @def
(val_declaration name: (identifier) @name.variable) @def
(var_definition pattern: (identifier) @name.variable) @def
(type_definition name: (type_identifier) @name.type) @def
(given_definition name: (identifier) @name.instance) @def
(extension_definition parameters: (parameters (parameter type: [(type_identifier) @scope (generic_type type: (_) @scope)]))) @def
(class_parameter name: (identifier) @name.field) @def
(lambda_expression) @closure
(comment) @lead
(block_comment) @lead

(extends_clause [(type_identifier) @inherit (generic_type type: (type_identifier) @inherit) (stable_type_identifier (type_identifier) @inherit)])
(call_expression function: [(identifier) @call (field_expression field: (identifier) @call) (generic_function function: [(identifier) @call (field_expression field: (identifier) @call)])])
(instance_expression [(type_identifier) @call (generic_type type: (type_identifier) @call)])
(annotation name: (type_identifier) @call)
(type_identifier) @type

(import_declaration) @imports
(import_declaration path: (identifier) @import)
(namespace_selectors (identifier) @import)
(namespace_selectors (arrow_renamed_identifier name: (identifier) @import alias: (identifier) @alias))
(identifier) @use
