; Definitions of C#. The earliest pattern wins for a name.
(namespace_declaration name: (_) @name) @definition.module
(class_declaration name: (identifier) @name) @definition.class
(record_declaration name: (identifier) @name) @definition.class
(struct_declaration name: (identifier) @name) @definition.struct
(interface_declaration name: (identifier) @name) @definition.interface
(enum_declaration name: (identifier) @name) @definition.enum
(delegate_declaration name: (identifier) @name) @definition.type
(method_declaration name: (identifier) @name) @definition.method
(constructor_declaration name: (identifier) @name) @definition.method
(destructor_declaration name: (identifier) @name) @definition.method
(operator_declaration operator: _ @name) @definition.method
(local_function_statement name: (identifier) @name) @definition.function
(property_declaration name: (identifier) @name accessors: (_)? @body) @definition.variable
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @definition.variable
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @definition.variable

(enum_member_declaration name: (identifier) @name) @member.variable

(comment) @leading
