(block (identifier) . (string_lit (template_literal) @name.block) . (block_start)) @def
(block (identifier) . (string_lit (template_literal) @scope) . (string_lit (template_literal) @name.block) . (block_start)) @def
(config_file (body (block (identifier) @name.block . (block_start)) @def))
(config_file (body (attribute (identifier) @name.variable) @def))
(block (body) @body)
(comment) @lead
(function_call (identifier) @call)
(get_attr (identifier) @use)
