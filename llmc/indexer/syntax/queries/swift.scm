(class_declaration declaration_kind: "class" name: (type_identifier) @name.class) @def
(class_declaration declaration_kind: "struct" name: (type_identifier) @name.struct) @def
(class_declaration declaration_kind: "enum" name: (type_identifier) @name.enum) @def
(class_declaration declaration_kind: "actor" name: (type_identifier) @name.actor) @def
(class_declaration declaration_kind: "extension" name: (user_type) @path.extension) @def
(protocol_declaration name: (type_identifier) @name.protocol) @def
(function_declaration name: (simple_identifier) @name.function) @def
(protocol_function_declaration name: (simple_identifier) @name.method) @def
(init_declaration name: "init" @name.constructor) @def
(deinit_declaration "deinit" @name.method) @def
(subscript_declaration "subscript" @name.method) @def
(property_declaration name: (pattern bound_identifier: (simple_identifier) @name.variable)) @def
(property_declaration [(computed_property) (willset_didset_block)] @body)
(protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @name.property)) @def
(enum_entry name: (simple_identifier) @name.constant) @def
(typealias_declaration name: (type_identifier) @name.type) @def
(associatedtype_declaration name: (type_identifier) @name.type) @def
(lambda_literal) @closure
(computed_property) @closure
(willset_didset_block) @closure
(comment) @lead
(multiline_comment) @lead

(inheritance_specifier inherits_from: (user_type (type_identifier) @inherit))
(call_expression [(simple_identifier) @call (navigation_expression suffix: (navigation_suffix suffix: (simple_identifier) @call))] . (call_suffix))
(attribute (user_type (type_identifier) @call))
(type_identifier) @type

(import_declaration) @imports
(import_declaration (identifier) @import)
(simple_identifier) @use
