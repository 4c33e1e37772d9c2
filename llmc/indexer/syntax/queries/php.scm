(namespace_definition name: (_) @path.module) @def
(class_declaration name: (name) @name.class) @def
(interface_declaration name: (name) @name.interface) @def
(trait_declaration name: (name) @name.trait) @def
(enum_declaration name: (name) @name.enum) @def
(enum_case name: (name) @name.constant) @def
(function_definition name: (name) @name.function) @def
(method_declaration name: (name) @name.method) @def
(const_declaration (const_element (name) @name.constant)) @def
(property_declaration (property_element name: (variable_name (name) @name.field))) @def
(property_promotion_parameter name: (variable_name (name) @name.field)) @def
(anonymous_function) @closure
(arrow_function) @closure
(scoped_call_expression arguments: (arguments . (argument [(string) (encapsed_string)] @name.word) (argument [(anonymous_function) (arrow_function)]))) @handler
(member_call_expression arguments: (arguments . (argument [(string) (encapsed_string)] @name.word) (argument [(anonymous_function) (arrow_function)]))) @handler
(comment) @lead

(base_clause [(name) @inherit (qualified_name (name) @inherit)])
(class_interface_clause [(name) @inherit (qualified_name (name) @inherit)])
(declaration_list (use_declaration [(name) @inherit (qualified_name (name) @inherit)]))
(function_call_expression function: [(name) @call (qualified_name (name) @call)])
(member_call_expression name: (name) @call)
(nullsafe_member_call_expression name: (name) @call)
(scoped_call_expression name: (name) @call)
(object_creation_expression [(name) @call (qualified_name (name) @call)])
(attribute [(name) @call (qualified_name (name) @call)])
(named_type [(name) @type (qualified_name (name) @type)])

(namespace_use_declaration) @imports
(namespace_use_declaration (namespace_name) @from)
(namespace_use_clause [(name) (qualified_name)] @import)
(namespace_use_clause alias: (name) @alias)
(name) @use
