; Definitions of Lua. The earliest pattern wins for a name.
(function_declaration name: (identifier) @name) @definition.function
(function_declaration
  name: (dot_index_expression table: (_) @receiver field: (identifier) @name)) @definition.function
(function_declaration
  name: (method_index_expression table: (_) @receiver method: (identifier) @name)) @definition.method
(assignment_statement
  (variable_list . name: (dot_index_expression table: (_) @receiver field: (identifier) @name))
  (expression_list . value: (function_definition))) @definition.function
(variable_declaration (assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: (function_definition)))) @definition.function
(field name: (identifier) @name value: (function_definition)) @definition.function
(chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @name))) @definition.variable)

(comment) @leading
