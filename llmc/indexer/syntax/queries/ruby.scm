(module name: [(constant) @name.module (scope_resolution) @path.module]) @def
(class name: [(constant) @name.class (scope_resolution) @path.class]) @def
(method name: (_) @name.method) @def
(singleton_method name: (_) @name.method) @def
(alias name: (_) @name.method) @def
(assignment left: (constant) @name.constant) @def
(assignment left: (constant) @name.class right: (call receiver: (constant) block: (_) @body))
(call !receiver arguments: (argument_list (simple_symbol) @name.word)) @try.ruby
(call arguments: (argument_list . [(string) (constant) (scope_resolution)] @name.word) block: (_) @body) @try.ruby
(do_block) @closure
(block) @closure
(call method: (identifier) arguments: (argument_list . [(string) (simple_symbol)] @name.word) block: (do_block)) @handler
(comment) @lead

(superclass [(constant) @inherit (scope_resolution name: (_) @inherit)])
(call method: (_) @call)
(call !receiver arguments: (argument_list . (string) @maybe.import)) @maybe.imports
(identifier) @use
(constant) @use
