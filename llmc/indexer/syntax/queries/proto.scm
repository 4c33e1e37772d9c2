(package (full_ident) @path.module) @def
(message (message_name) @name.struct) @def
(message (message_body) @body)
(enum (enum_name) @name.enum) @def
(enum (enum_body) @body)
(enum_field . (identifier) @name.constant) @def
(service (service_name) @name.interface) @def
(rpc (rpc_name) @name.method) @def
(field (type) . (identifier) @name.field) @def
(oneof_field (type) . (identifier) @name.field) @def
(map_field (identifier) @name.field) @def
(comment) @lead
(message_or_enum_type (identifier) @type .)
(import) @imports
(import path: (string) @from)
