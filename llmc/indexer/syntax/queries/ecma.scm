(function_declaration name: (identifier) @name.function) @def
(generator_function_declaration name: (identifier) @name.function) @def
(method_definition name: (_) @name.method) @def
(variable_declarator name: (identifier) @name.variable) @def
(variable_declarator name: (identifier) @name.function value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])
(variable_declarator name: (identifier) @name.class value: (class body: (_) @body))
(assignment_expression left: (member_expression) @path.function right: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @def
(assignment_expression left: (member_expression) @path.class right: (class body: (_) @body)) @def
(pair key: [(property_identifier) (string)] @name.function value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @def
(arrow_function) @closure
(function_expression) @closure
(comment) @lead
(decorator) @deco

(call_expression
  function: [(identifier) (member_expression object: (identifier))]
  arguments: (arguments . [(string) (template_string)] @name.word [(arrow_function body: (_) @body) (function_expression body: (_) @body)])) @try.test

; A function without a name is called after the call that registers it: router.post('/refresh'), emitter.on('close').
(call_expression
  function: [(identifier) (member_expression object: [(identifier) (this) (member_expression)])]
  arguments: (arguments . [(string) (template_string)] @name.word
    [(arrow_function) (function_expression) (call_expression arguments: (arguments [(arrow_function) (function_expression)]))])) @handler
(call_expression
  function: (member_expression object: (call_expression) property: (property_identifier))
  arguments: (arguments . [(arrow_function) (function_expression) (call_expression arguments: (arguments [(arrow_function) (function_expression)]))])) @handler.chain
; An object of functions lends them its key: auth_login: { resolve: async () => ... }
(pair key: [(property_identifier) (string)] @scope
  value: (object [(pair value: [(arrow_function) (function_expression)]) (method_definition)])) @def

(call_expression function: [(identifier) @call (member_expression property: (_) @call)])
(new_expression constructor: [(identifier) @call (member_expression property: (_) @call)])
(decorator [(identifier) @call (member_expression property: (_) @call)])

(import_statement) @imports
(import_statement source: (string) @from)
(import_clause (identifier) @import)
(namespace_import (identifier) @import)
(import_specifier name: (_) @import)
(import_specifier alias: (identifier) @alias)
(export_statement source: (string)) @imports
(export_statement source: (string) @from)
(export_statement (export_clause (export_specifier name: (_) @import)) source: (string))
(export_specifier name: (identifier) @use)
(variable_declarator
  name: [(identifier) @maybe.import (object_pattern (shorthand_property_identifier_pattern) @maybe.import) (object_pattern (pair_pattern key: (_) @maybe.import))]
  value: [(call_expression function: (identifier) arguments: (arguments . (string) @maybe.from))
          (member_expression object: (call_expression function: (identifier) arguments: (arguments . (string) @maybe.from)))]) @maybe.imports
(identifier) @use
(property_identifier) @use
(shorthand_property_identifier) @use
