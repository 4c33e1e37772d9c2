(module_definition name: (identifier) @name.module) @def
(struct_definition (type_head [(identifier) @name.struct (parametrized_type_expression . (identifier) @name.struct)
  (binary_expression . [(identifier) @name.struct (parametrized_type_expression . (identifier) @name.struct)])])) @def
(abstract_definition (type_head [(identifier) @name.type (parametrized_type_expression . (identifier) @name.type)
  (binary_expression . [(identifier) @name.type (parametrized_type_expression . (identifier) @name.type)])])) @def
(struct_definition (block (typed_expression . (identifier) @name.field @def)))
(function_definition (signature (call_expression . [(identifier) @name.function (field_expression) @path.function]))) @def
(function_definition (signature (typed_expression (call_expression . [(identifier) @name.function (field_expression) @path.function])))) @def
(function_definition (signature (where_expression (call_expression . [(identifier) @name.function (field_expression) @path.function])))) @def
(function_definition (signature (where_expression (typed_expression (call_expression . [(identifier) @name.function (field_expression) @path.function]))))) @def
(function_definition (signature (identifier) @name.function)) @def
(function_definition (block) @body)
(macro_definition (signature (call_expression . (identifier) @name.macro))) @def
(assignment . (call_expression . [(identifier) @name.function (field_expression) @path.function])) @def
(assignment . (where_expression (call_expression . [(identifier) @name.function (field_expression) @path.function]))) @def
(const_statement (assignment . (identifier) @name.constant)) @def
(source_file (assignment . (identifier) @name.variable) @def)
(arrow_function_expression) @closure
(do_clause) @closure
(line_comment) @lead
(block_comment) @lead
(string_literal) @lead

(struct_definition (type_head (binary_expression (_) (operator) (identifier) @inherit)))
(call_expression . [(identifier) @call (field_expression (identifier) @call .)])
(broadcast_call_expression . [(identifier) @call (field_expression (identifier) @call .)])
(macrocall_expression (macro_identifier (identifier) @call))
(typed_expression (_) (identifier) @type)
(using_statement) @imports
(import_statement) @imports
(using_statement [(identifier) @import (import_path) @import])
(import_statement [(identifier) @import (import_path) @import])
(selected_import . [(identifier) @from (import_path) @from])
(selected_import (_) (identifier) @import)
(identifier) @use
