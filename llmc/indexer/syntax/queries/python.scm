(function_definition name: (identifier) @name.function) @def
(class_definition name: (identifier) @name.class) @def
; Half of all assignments are local; asking for their parents is cheaper than dropping them afterwards.
(module (assignment left: [(identifier) @name.variable (pattern_list (identifier) @name.variable)]) @def)
(class_definition body: (block (assignment left: [(identifier) @name.variable (pattern_list (identifier) @name.variable)]) @def))
(module (_ (block (assignment left: (identifier) @name.variable) @def)))
(type_alias_statement left: (type (identifier) @name.type)) @def
(decorator) @deco
(comment) @lead

(class_definition superclasses: (argument_list [(identifier) @inherit (attribute attribute: (identifier) @inherit)]))
(class_definition superclasses: (argument_list (subscript value: [(identifier) @inherit (attribute attribute: (identifier) @inherit)])))
(call function: [(identifier) @call (attribute attribute: (identifier) @call)])
(decorator [(identifier) @call (attribute attribute: (identifier) @call)])
(type [(identifier) @type (generic_type (identifier) @type) (attribute attribute: (identifier) @type)])
(type (subscript [(identifier) @type (attribute attribute: (identifier) @type)]))
(type (binary_operator (identifier) @type))

(import_statement) @imports
(import_from_statement) @imports
(import_statement name: (dotted_name) @import)
(import_statement name: (aliased_import name: (dotted_name) @import alias: (identifier) @alias))
(import_from_statement module_name: (_) @from)
(import_from_statement name: (dotted_name) @import)
(import_from_statement name: (aliased_import name: (dotted_name) @import alias: (identifier) @alias))
(identifier) @use
