(binary_operator lhs: [(identifier) (string)] @name.variable operator: ["<-" "=" "<<-"]) @def
(binary_operator lhs: [(identifier) (string)] @name.function operator: ["<-" "=" "<<-"] rhs: (function_definition body: (_) @body))
(argument name: (identifier) @name.function value: (function_definition body: (_) @body)) @def
(call function: (identifier) arguments: (arguments . argument: (argument value: (string) @name.word))) @try.r
(function_definition) @closure
(comment) @lead

(call function: [(identifier) @call (namespace_operator rhs: (_) @call) (extract_operator rhs: (_) @call)])
(call function: (identifier) arguments: (arguments . argument: (argument value: [(identifier) (string)] @maybe.import))) @maybe.imports
(identifier) @use
