; inherits: css
(stylesheet (declaration (property_name) @name.variable) @def)
(mixin_statement name: (identifier) @name.function) @def
(mixin_statement (block) @body)
(function_statement name: (identifier) @name.function) @def
(function_statement (block) @body)
(include_statement (identifier) @call)
(extend_statement (_) @inherit)
(use_statement) @imports
(use_statement (string_value) @from)
(forward_statement) @imports
(forward_statement (string_value) @from)
