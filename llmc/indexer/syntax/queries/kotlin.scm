(package_header (identifier) @path.module) @def
(class_declaration (type_identifier) @name.class) @def
(class_declaration "interface" (type_identifier) @name.interface)
(class_declaration "enum" (type_identifier) @name.enum)
(class_declaration [(class_body) (enum_class_body)] @body)
(object_declaration (type_identifier) @name.object) @def
(object_declaration (class_body) @body)
(companion_object (type_identifier) @name.object) @def
(enum_entry (simple_identifier) @name.constant) @def
(function_declaration (simple_identifier) @name.function) @def
(function_declaration (function_body) @body)
(function_declaration receiver: (receiver_type [(user_type (type_identifier) @scope) (nullable_type (user_type (type_identifier) @scope))]))
(secondary_constructor "constructor" @name.constructor) @def
(property_declaration (variable_declaration (simple_identifier) @name.variable)) @def
(property_declaration receiver: (receiver_type (user_type (type_identifier) @scope)))
(class_parameter (binding_pattern_kind) (simple_identifier) @name.field) @def
(type_alias (type_identifier) @name.type) @def
(lambda_literal) @closure
(anonymous_function) @closure
(getter) @closure
(setter) @closure
(anonymous_initializer) @closure
(call_expression
  (call_expression (simple_identifier) (call_suffix (value_arguments . (value_argument (string_literal) @name.word))))
  (call_suffix (annotated_lambda))) @handler
(call_expression
  (simple_identifier) (call_suffix (value_arguments . (value_argument (string_literal) @name.word)) (annotated_lambda))) @handler
(line_comment) @lead
(multiline_comment) @lead

(delegation_specifier [(user_type (type_identifier) @inherit) (constructor_invocation (user_type (type_identifier) @inherit)) (explicit_delegation (user_type (type_identifier) @inherit))])
(call_expression [(simple_identifier) @call (navigation_expression (navigation_suffix (simple_identifier) @call) .)] . (call_suffix))
(infix_expression (_) (simple_identifier) @call (_))
(annotation [(user_type (type_identifier) @call) (constructor_invocation (user_type (type_identifier) @call))])
(type_identifier) @type

(import_header) @imports
(import_header (identifier) @import)
(import_header (import_alias (type_identifier) @alias))
(simple_identifier) @use
