(package_declaration [(scoped_identifier) (identifier)] @path.module) @def
(class_declaration name: (identifier) @name.class) @def
(interface_declaration name: (identifier) @name.interface) @def
(annotation_type_declaration name: (identifier) @name.interface) @def
(enum_declaration name: (identifier) @name.enum) @def
(record_declaration name: (identifier) @name.record) @def
(enum_constant name: (identifier) @name.constant) @def
(method_declaration name: (identifier) @name.method) @def
(annotation_type_element_declaration name: (identifier) @name.method) @def
(constructor_declaration name: (identifier) @name.constructor) @def
(compact_constructor_declaration name: (identifier) @name.constructor) @def
(field_declaration declarator: (variable_declarator name: (identifier) @name.field)) @def
(constant_declaration declarator: (variable_declarator name: (identifier) @name.constant)) @def
(lambda_expression) @closure
(line_comment) @lead
(block_comment) @lead

(superclass [(type_identifier) @inherit (generic_type [(type_identifier) @inherit (scoped_type_identifier (type_identifier) @inherit .)]) (scoped_type_identifier (type_identifier) @inherit .)])
(type_list [(type_identifier) @inherit (generic_type [(type_identifier) @inherit (scoped_type_identifier (type_identifier) @inherit .)]) (scoped_type_identifier (type_identifier) @inherit .)])
(method_invocation name: (identifier) @call)
(object_creation_expression type: [(type_identifier) @call (generic_type (type_identifier) @call) (scoped_type_identifier (type_identifier) @call .)])
(method_reference (identifier) @use)
(marker_annotation name: [(identifier) @call (scoped_identifier name: (_) @call)])
(annotation name: [(identifier) @call (scoped_identifier name: (_) @call)])
(type_identifier) @type

(import_declaration) @imports
(import_declaration [(scoped_identifier) (identifier)] @import)
(identifier) @use
