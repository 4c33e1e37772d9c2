(Decl (FnProto function: (IDENTIFIER) @name.function)) @def
(Decl (Block) @body)
(Decl (VarDecl variable_type_function: (IDENTIFIER) @name.variable)) @def
(Decl (VarDecl variable_type_function: (IDENTIFIER) @name.struct (ErrorUnionExpr (SuffixExpr (ContainerDecl) @body))))
(TestDecl (STRINGLITERALSINGLE) @name.test) @def
(TestDecl (Block) @body)
(ContainerField field_member: (IDENTIFIER) @name.field) @def
(Block) @closure
(line_comment) @lead
(doc_comment) @lead

(SuffixExpr variable_type_function: (IDENTIFIER) @call . (FnCallArguments))
(FieldOrFnCall function_call: (IDENTIFIER) @call)
(Decl (VarDecl variable_type_function: (IDENTIFIER) @maybe.import
  (ErrorUnionExpr (SuffixExpr (BUILTINIDENTIFIER) (FnCallArguments (ErrorUnionExpr (SuffixExpr (STRINGLITERALSINGLE) @maybe.from))))))) @maybe.imports
(IDENTIFIER) @use
