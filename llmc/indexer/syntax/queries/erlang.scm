(module_attribute name: (atom) @name.module) @def
(fun_decl clause: (function_clause name: (atom) @name.function body: (_) @body)) @def
(record_decl name: (atom) @name.record) @def
(record_decl fields: (record_field name: (atom) @name.field @def))
(type_alias name: (type_name name: (atom) @name.type)) @def
(opaque name: (type_name name: (atom) @name.type)) @def
(pp_define lhs: (macro_lhs name: (_) @name.macro)) @def
(callback fun: (atom) @name.method) @def
(spec) @lead
(comment) @lead

(behaviour_attribute name: (atom) @inherit)
(call expr: [(atom) @call (remote fun: (atom) @call)])
(macro_call_expr name: (_) @call)
(record_expr name: (record_name name: (atom) @call))
(fa fun: (atom) @use)
(pp_include) @imports
(pp_include file: (string) @from)
(pp_include_lib) @imports
(pp_include_lib file: (string) @from)
(import_attribute) @imports
(import_attribute module: (atom) @from funs: (fa fun: (atom) @import))
(atom) @use
