(class_definition name: (identifier) @name.class) @def
(mixin_declaration (identifier) @name.mixin) @def
(mixin_declaration (class_body) @body)
(extension_declaration name: (identifier) @name.extension) @def
(enum_declaration name: (identifier) @name.enum) @def
(enum_constant name: (identifier) @name.constant) @def
(type_alias . (type_identifier) @name.type) @def
(function_signature name: (identifier) @name.function)
(method_signature) @def
(program (function_signature) @def)
(local_function_declaration) @def
(declaration (function_signature)) @def
(getter_signature name: (identifier) @name.property)
(program (getter_signature) @def)
(setter_signature name: (identifier) @name.property)
(declaration (constructor_signature name: (identifier) @name.constructor . (formal_parameter_list))) @def
(declaration (constant_constructor_signature (identifier) @name.constructor . (formal_parameter_list))) @def
(method_signature (constructor_signature name: (identifier) @name.constructor . (formal_parameter_list)))
(method_signature (factory_constructor_signature (identifier) @name.constructor . (formal_parameter_list)))
(static_final_declaration (identifier) @name.variable) @def
(initialized_identifier (identifier) @name.field) @def
(function_body) @tail @closure @body
(function_expression) @closure
(comment) @lead
(documentation_comment) @lead
(annotation) @deco

(superclass (type_identifier) @inherit)
(mixins (type_identifier) @inherit)
(interfaces (type_identifier) @inherit)
((identifier) @call . (selector (argument_part)))
(selector (unconditional_assignable_selector (identifier) @call)) 
(new_expression (type_identifier) @call)
(annotation name: (identifier) @call)
(type_identifier) @type

(import_or_export) @imports
(import_or_export (_ (import_specification (configurable_uri) @from)))
(import_or_export (library_export (configurable_uri) @from))
(import_specification (identifier) @alias)
(combinator (identifier) @import)
(identifier) @use
