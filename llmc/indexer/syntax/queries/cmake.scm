(function_def (function_command (argument_list . (argument) @name.function))) @def
(macro_def (macro_command (argument_list . (argument) @name.macro))) @def
(normal_command (identifier) (argument_list . (argument) @name.word)) @try.cmake
(line_comment) @lead
(normal_command (identifier) @call)
(normal_command (identifier) (argument_list . (argument) @maybe.import)) @maybe.imports
(variable) @use
