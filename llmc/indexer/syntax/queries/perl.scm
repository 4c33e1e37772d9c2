(package_statement name: (package) @path.module) @open
(subroutine_declaration_statement name: (bareword) @name.function) @def
(assignment_expression left: (variable_declaration variable: [(scalar (varname) @name.variable) (array (varname) @name.variable) (hash (varname) @name.variable)])) @def
(anonymous_subroutine_expression) @closure
(comment) @lead
(pod) @lead

(method_call_expression method: (method) @call)
(function_call_expression function: (function) @call)
(ambiguous_function_call_expression function: (function) @call)
(use_statement) @imports
(use_statement module: (package) @import)
(use_statement module: (package) (string_literal content: (_) @import))
(use_statement module: (package) (quoted_word_list content: (_) @import))
(require_expression) @imports
(require_expression (bareword) @import)
(bareword) @use
