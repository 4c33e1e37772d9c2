(object_type_definition (name) @name.type) @def
(interface_type_definition (name) @name.interface) @def
(enum_type_definition (name) @name.enum) @def
(input_object_type_definition (name) @name.struct) @def
(union_type_definition (name) @name.union) @def
(scalar_type_definition (name) @name.type) @def
(directive_definition (name) @name.function) @def
(object_type_extension (name) @name.extension) @def
(operation_definition (name) @name.function) @def
(fragment_definition (fragment_name (name) @name.function)) @def
(field_definition (name) @name.field) @def
(enum_value_definition (enum_value (name) @name.constant)) @def
(description) @lead
(comment) @lead
(implements_interfaces (named_type (name) @inherit))
(named_type (name) @type)
(fragment_spread (fragment_name (name) @call))
(field (name) @use)
