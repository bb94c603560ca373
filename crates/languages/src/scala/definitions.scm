; Definitions of Scala. The earliest pattern wins for a name.
(class_definition name: (_) @name) @definition.class
(object_definition name: (_) @name) @definition.class
(package_object name: (_) @name) @definition.module
(trait_definition name: (_) @name) @definition.trait
(enum_definition name: (_) @name) @definition.enum
(function_definition name: (_) @name) @definition.function
(function_declaration name: (_) @name) @definition.function
(given_definition name: (_) @name) @definition.variable
(type_definition name: (_) @name) @definition.type
(template_body (val_definition pattern: (identifier) @name) @definition.variable)
(template_body (var_definition pattern: (identifier) @name) @definition.variable)
(compilation_unit (val_definition pattern: (identifier) @name) @definition.variable)

(simple_enum_case name: (_) @name) @member.variable
(full_enum_case name: (_) @name) @member.variable

[(comment) (block_comment) (annotation)] @leading
