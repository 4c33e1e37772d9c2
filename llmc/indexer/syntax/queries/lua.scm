(function_declaration name: [(identifier) @name.function (dot_index_expression) @path.function (method_index_expression) @path.method]) @def
(assignment_statement (variable_list . name: [(identifier) @name.variable (dot_index_expression) @path.variable])) @def
(assignment_statement
  (variable_list . name: [(identifier) @name.function (dot_index_expression) @path.function])
  (expression_list . value: (function_definition body: (_)? @body)))
(field name: (identifier) @name.function value: (function_definition body: (_)? @body)) @def
(function_definition) @closure
(comment) @lead

(function_call name: [(identifier) @call (dot_index_expression field: (_) @call) (method_index_expression method: (_) @call)])
(assignment_statement
  (variable_list name: (identifier) @maybe.import)
  (expression_list value: (function_call name: (identifier) arguments: (arguments (string) @maybe.from)))) @maybe.imports
(identifier) @use
