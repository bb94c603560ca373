; What Ruby defines. The earliest pattern wins for a name.
(class name: (_) @name) @definition.class
(module name: (_) @name) @definition.module
(method name: (_) @name) @definition.function
(singleton_method name: (_) @name) @definition.method
(program (assignment left: (constant) @name) @definition.variable)
(body_statement (assignment left: (constant) @name) @definition.variable)

(comment) @leading
