; inherits: c.links
(qualified_identifier scope: (_) @recv)
(optional_parameter_declaration) @bind
(for_range_loop) @bind
(base_class_clause [(type_identifier) (template_type) (qualified_identifier)] @base)
