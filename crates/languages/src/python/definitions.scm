; Definitions of Python. The earliest pattern wins for a name.
(function_definition name: (identifier) @name) @definition.function
(class_definition name: (identifier) @name) @definition.class
(decorated_definition definition: (_) @wrapped) @wrapper
(type_alias_statement left: (type) @name) @definition.type
(module (expression_statement (assignment left: (identifier) @name)) @definition.variable)
(class_definition body: (block (expression_statement (assignment left: (identifier) @name)) @definition.variable))

(comment) @leading
