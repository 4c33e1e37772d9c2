(from_instruction (image_spec name: (image_name) @type))
(from_instruction as: (image_alias) @name.stage) @open
(from_instruction !as (image_spec name: (image_name) @name.stage)) @open
(arg_instruction name: (_) @name.variable) @def
(env_instruction (env_pair name: (_) @name.variable)) @def
(comment) @lead
