; inherits: ecma
(class_declaration name: (type_identifier) @name.class) @def
(abstract_class_declaration name: (type_identifier) @name.class) @def
(interface_declaration name: (type_identifier) @name.interface) @def
(type_alias_declaration name: (type_identifier) @name.type) @def
(enum_declaration name: (identifier) @name.enum) @def
(enum_body name: (_) @name.constant @def)
(enum_assignment name: (_) @name.constant) @def
(module name: (_) @path.module) @def
(internal_module name: (_) @path.module) @def
(function_signature name: (identifier) @name.function) @def
(method_signature name: (_) @name.method) @def
(abstract_method_signature name: (_) @name.method) @def
(property_signature name: (_) @name.field) @def
(public_field_definition name: (_) @name.field) @def
(public_field_definition name: (_) @name.method value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])

(extends_clause value: [(identifier) @inherit (member_expression property: (_) @inherit) (call_expression function: (_) @inherit)])
(implements_clause [(type_identifier) @inherit (generic_type name: (_) @inherit)])
(extends_type_clause [(type_identifier) @inherit (generic_type name: (_) @inherit) (nested_type_identifier name: (_) @inherit)])
(type_identifier) @type
(import_require_clause (identifier) @import source: (string) @from)
