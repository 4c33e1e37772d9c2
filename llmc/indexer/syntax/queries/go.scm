(package_clause (package_identifier) @name.module) @def
(function_declaration name: (identifier) @name.function) @def
(method_declaration
  receiver: (parameter_list (parameter_declaration
    type: [(type_identifier) @scope (pointer_type (type_identifier) @scope)
           (generic_type type: (_) @scope) (pointer_type (generic_type type: (_) @scope))]))
  name: (field_identifier) @name.method) @def
(type_spec name: (type_identifier) @name.type) @def
(type_spec name: (type_identifier) @name.struct type: (struct_type (field_declaration_list) @body))
(type_spec name: (type_identifier) @name.interface type: (interface_type))
(type_alias name: (type_identifier) @name.type) @def
(const_spec name: (identifier) @name.constant) @def
(var_spec name: (identifier) @name.variable) @def
(field_declaration name: (field_identifier) @name.field) @def
(method_elem name: (field_identifier) @name.method) @def
(func_literal) @closure
(call_expression
  function: [(identifier) (selector_expression)]
  arguments: (argument_list . [(interpreted_string_literal) (raw_string_literal)] @name.word (func_literal))) @handler
(comment) @lead

(field_declaration !name type: [(type_identifier) @inherit (qualified_type name: (_) @inherit) (generic_type type: (_) @inherit)])
(type_elem [(type_identifier) @inherit (qualified_type name: (_) @inherit)])
(call_expression function: [(identifier) @call (selector_expression field: (_) @call) (type_instantiation_expression type: (_) @call)])
(composite_literal type: [(type_identifier) @call (qualified_type name: (_) @call)])
(type_identifier) @type

(import_spec) @imports
(import_spec path: (_) @import)
(import_spec name: (package_identifier) @alias)
(identifier) @use
(field_identifier) @use
(package_identifier) @use
