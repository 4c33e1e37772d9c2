(list_lit . value: (sym_lit) . value: (sym_lit name: (sym_name) @path.word)) @try.clojure
(list_lit . value: (sym_lit) . value: (sym_lit (meta_lit) name: (sym_name) @path.word)) @try.clojure
(list_lit . value: (sym_lit) value: (vec_lit) @body)
(comment) @lead

(list_lit . value: (sym_lit name: (sym_name) @call))
(list_lit . value: (kwd_lit)
  value: [(vec_lit . value: (sym_lit) @maybe.import) (sym_lit) @maybe.import
          (vec_lit value: (vec_lit value: (sym_lit) @maybe.import)) (vec_lit value: (kwd_lit) . value: (sym_lit) @maybe.alias)]) @maybe.imports
(sym_lit name: (sym_name) @use)
