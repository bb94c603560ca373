; Definitions of Kotlin. The earliest pattern wins for a name.
(class_declaration "interface" name: (identifier) @name (class_body)? @body) @definition.interface
(class_declaration name: (identifier) @name (enum_class_body) @body) @definition.enum
(class_declaration name: (identifier) @name (class_body)? @body) @definition.class
(object_declaration name: (identifier) @name (class_body)? @body) @definition.class
(companion_object name: (identifier) @name (class_body)? @body) @definition.class
(function_declaration name: (identifier) @name (function_body)? @body) @definition.function
(type_alias type: (identifier) @name) @definition.type
(source_file (property_declaration (variable_declaration (identifier) @name)) @definition.variable)
(class_body (property_declaration (variable_declaration (identifier) @name)) @definition.variable)

(enum_entry (identifier) @name) @member.variable
(class_parameter "val" (identifier) @name) @member.variable
(class_parameter "var" (identifier) @name) @member.variable

[(line_comment) (block_comment)] @leading
