; Definitions of Zig. The earliest pattern wins for a name.
(function_declaration name: (identifier) @name) @definition.function
(variable_declaration . (identifier) @name (struct_declaration) @body) @definition.struct
(variable_declaration . (identifier) @name (union_declaration) @body) @definition.struct
(variable_declaration . (identifier) @name (opaque_declaration) @body) @definition.struct
(variable_declaration . (identifier) @name (enum_declaration) @body) @definition.enum
(variable_declaration . (identifier) @name (error_set_declaration) @body) @definition.enum
(test_declaration [(string) (identifier)] @name (block) @body) @definition.function
(source_file (variable_declaration . (identifier) @name) @definition.variable)
(struct_declaration (variable_declaration . (identifier) @name) @definition.variable)

(comment) @leading
