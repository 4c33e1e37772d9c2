(document (pair [(bare_key) (quoted_key) (dotted_key)] @name.key) @def)
(table [(bare_key) (quoted_key) (dotted_key)] @name.section) @def
(table_array_element [(bare_key) (quoted_key) (dotted_key)] @name.section) @def
(table (pair [(bare_key) (quoted_key) (dotted_key)] @name.key) @def)
(comment) @lead
