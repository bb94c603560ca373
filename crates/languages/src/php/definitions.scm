; Definitions of PHP. The earliest pattern wins for a name.
(namespace_definition name: (_) @name body: (_)) @definition.module
(class_declaration name: (name) @name) @definition.class
(interface_declaration name: (name) @name) @definition.interface
(trait_declaration name: (name) @name) @definition.trait
(enum_declaration name: (name) @name) @definition.enum
(function_definition name: (name) @name) @definition.function
(method_declaration name: (name) @name) @definition.method
(const_declaration (const_element (name) @name)) @definition.variable
(property_declaration (property_element (variable_name (name) @name))) @definition.variable
(enum_case name: (name) @name) @member.variable
; Anonymous handlers that are passed to a call: `Route::get('/x', function () { … })`.
(expression_statement (scoped_call_expression scope: (_) @receiver name: (name) @name
  arguments: (arguments . (argument [(string) (encapsed_string)] @argument) (argument [(anonymous_function body: (_) @body) (arrow_function body: (_) @body)])))
  (#any-of? @name "get" "post" "put" "patch" "delete" "options" "any" "match")) @handler
(expression_statement (member_call_expression object: (_) @receiver name: (name) @name
  arguments: (arguments . (argument [(string) (encapsed_string)] @argument) (argument [(anonymous_function body: (_) @body) (arrow_function body: (_) @body)])))
  (#any-of? @name "get" "post" "put" "patch" "delete" "options" "any" "map")) @handler

(comment) @leading
