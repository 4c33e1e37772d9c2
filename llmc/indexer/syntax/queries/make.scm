(rule (targets (word) @name.target)) @def
(variable_assignment name: (word) @name.variable) @def
(define_directive name: (word) @name.function) @def
(comment) @lead
(include_directive) @imports
(include_directive filenames: (list (word) @from))
(prerequisites (word) @use)
(variable_reference (word) @use)
(function_call) @closure
