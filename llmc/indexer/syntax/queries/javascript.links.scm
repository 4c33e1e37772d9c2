; inherits: ecma.links
(formal_parameters (identifier) @local)
(field_definition property: (_)) @bind
(class_heritage (_) @base)
