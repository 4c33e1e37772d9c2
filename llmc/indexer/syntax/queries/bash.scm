(function_definition name: (word) @name.function) @def
(variable_assignment name: (variable_name) @name.variable) @def
(subshell) @closure
(comment) @lead

(command name: (command_name (word) @call))
(command name: (command_name (word)) argument: (word) @maybe.import) @maybe.imports
(variable_name) @use
(word) @use
