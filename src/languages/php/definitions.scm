; What PHP defines. The earliest pattern wins for a name.
(namespace_definition name: (_) @name body: (_)) @definition.module
(class_declaration name: (name) @name) @definition.class
(interface_declaration name: (name) @name) @definition.interface
(trait_declaration name: (name) @name) @definition.trait
(enum_declaration name: (name) @name) @definition.enum
(function_definition name: (name) @name) @definition.function
(method_declaration name: (name) @name) @definition.method
(const_declaration (const_element (name) @name)) @definition.variable
(property_declaration (property_element (variable_name (name) @name))) @definition.variable

(comment) @leading
