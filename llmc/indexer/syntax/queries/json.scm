(document (object (pair key: (string) @name.key) @def))
(document (object (pair key: (string) @name.section value: [(object) (array)])))
(document (object (pair value: (object (pair key: (string) @name.section value: [(object) (array)]) @def))))
