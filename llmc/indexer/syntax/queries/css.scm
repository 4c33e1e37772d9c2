(rule_set (selectors) @name.selector) @def
(rule_set (block) @body)
(keyframes_statement (keyframes_name) @name.keyframes) @def
(comment) @lead
(import_statement) @imports
(import_statement (string_value) @from)
