(function_item name: (identifier) @name.function) @def
(function_signature_item name: (identifier) @name.function) @def
(struct_item name: (type_identifier) @name.struct) @def
(union_item name: (type_identifier) @name.union) @def
(enum_item name: (type_identifier) @name.enum) @def
(enum_variant name: (identifier) @name.constant) @def
(trait_item name: (type_identifier) @name.trait) @def
(mod_item name: (identifier) @name.module) @def
(type_item name: (type_identifier) @name.type) @def
(associated_type name: (type_identifier) @name.type) @def
(const_item name: (identifier) @name.constant) @def
(static_item name: (identifier) @name.variable) @def
(macro_definition name: (identifier) @name.macro) @def
(field_declaration name: (field_identifier) @name.field) @def
(impl_item type: [(type_identifier) @scope (generic_type type: (_) @scope) (scoped_type_identifier name: (_) @scope)
                  (reference_type type: (type_identifier) @scope) (primitive_type) @scope]) @def
(closure_expression) @closure
(line_comment) @lead
(block_comment) @lead
(attribute_item) @deco

(impl_item trait: [(type_identifier) @inherit (generic_type type: (type_identifier) @inherit) (scoped_type_identifier name: (_) @inherit)
                   (generic_type type: (scoped_type_identifier name: (_) @inherit))])
(trait_item bounds: (trait_bounds [(type_identifier) @inherit (generic_type type: (_) @inherit) (scoped_type_identifier name: (_) @inherit)]))
(call_expression function: [(identifier) @call (field_expression field: (_) @call) (scoped_identifier name: (_) @call)
                            (generic_function function: [(identifier) @call (field_expression field: (_) @call) (scoped_identifier name: (_) @call)])])
(macro_invocation macro: [(identifier) @call (scoped_identifier name: (_) @call)])
(struct_expression name: [(type_identifier) @call (scoped_type_identifier name: (_) @call)])
(type_identifier) @type

(use_declaration) @imports
(use_declaration argument: [(scoped_identifier) @import (identifier) @import (use_wildcard (_) @import)])
(use_declaration argument: (use_as_clause path: (_) @import alias: (_) @alias))
(scoped_use_list path: (_) @from)
(use_list [(identifier) @import (scoped_identifier) @import (use_as_clause path: (_) @import alias: (_) @alias) (use_wildcard (_) @import)])
(identifier) @use
(field_identifier) @use
