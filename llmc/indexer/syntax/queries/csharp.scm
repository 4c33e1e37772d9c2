(namespace_declaration name: (_) @path.module) @def
(file_scoped_namespace_declaration name: (_) @path.module) @def
(class_declaration name: (identifier) @name.class) @def
(struct_declaration name: (identifier) @name.struct) @def
(interface_declaration name: (identifier) @name.interface) @def
(enum_declaration name: (identifier) @name.enum) @def
(record_declaration name: (identifier) @name.record) @def
(delegate_declaration name: (identifier) @name.type) @def
(enum_member_declaration name: (identifier) @name.constant) @def
(method_declaration name: (identifier) @name.method) @def
(constructor_declaration name: (identifier) @name.constructor) @def
(destructor_declaration name: (identifier) @name.method) @def
(local_function_statement name: (identifier) @name.function) @def
(property_declaration name: (identifier) @name.property) @def
(event_declaration name: (identifier) @name.property) @def
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name.field))) @def
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @name.property))) @def
(lambda_expression) @closure
(anonymous_method_expression) @closure
(invocation_expression
  function: [(identifier) (member_access_expression)]
  arguments: (argument_list . (argument (string_literal) @name.word) (argument (lambda_expression)))) @handler
(comment) @lead

(base_list [(identifier) @inherit (generic_name (identifier) @inherit) (qualified_name name: [(identifier) @inherit (generic_name (identifier) @inherit)])])
(invocation_expression function: [(identifier) @call (generic_name (identifier) @call) (member_access_expression name: [(identifier) @call (generic_name (identifier) @call)]) (conditional_access_expression (member_binding_expression name: (_) @call))])
(object_creation_expression type: [(identifier) @call (generic_name (identifier) @call) (qualified_name name: (_) @call)])
(attribute name: [(identifier) @call (qualified_name name: (_) @call)])
(variable_declaration type: [(identifier) @type (generic_name (identifier) @type) (nullable_type (identifier) @type) (array_type type: (identifier) @type)])
(parameter type: [(identifier) @type (generic_name (identifier) @type) (nullable_type (identifier) @type) (array_type type: (identifier) @type)])
(method_declaration returns: [(identifier) @type (generic_name (identifier) @type) (nullable_type (identifier) @type) (array_type type: (identifier) @type)])
(property_declaration type: [(identifier) @type (generic_name (identifier) @type) (nullable_type (identifier) @type) (array_type type: (identifier) @type)])
(type_argument_list [(identifier) @type (generic_name (identifier) @type)])

(using_directive) @imports
(using_directive [(identifier) (qualified_name)] @import)
(identifier) @use
