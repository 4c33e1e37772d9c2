(call target: (identifier)
  (arguments . [(call target: (identifier) @name.word) (identifier) @name.word (alias) @path.word (string) @name.word
                (binary_operator left: [(call target: (identifier) @name.word) (identifier) @name.word])])) @try.elixir
(call target: (identifier) (arguments) (do_block) @body)
(unary_operator operator: "@"
  operand: (call target: (identifier) (arguments (binary_operator left: [(identifier) @name.word (call target: (identifier) @name.word)])))) @try.elixir_attribute
(unary_operator operator: "@" operand: (call)) @lead
(unary_operator operator: "@" operand: [(call target: (identifier) @skip) (identifier) @skip])
(anonymous_function) @closure
(comment) @lead

(call target: [(identifier) @call (dot right: (identifier) @call)])
(call target: (identifier)
  (arguments [(alias) @maybe.import (dot left: (alias) @maybe.from right: (tuple (alias) @maybe.import))
              (keywords (pair value: (alias) @maybe.alias))])) @maybe.imports
(alias) @use
(identifier) @use
