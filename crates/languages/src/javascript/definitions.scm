; Definitions of JavaScript and JSX. The earliest pattern wins for a name.
(class_declaration name: (identifier) @name) @definition.class
(field_definition
  property: (_) @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.method
(function_declaration name: (identifier) @name) @definition.function
(generator_function_declaration name: (identifier) @name) @definition.function
(method_definition name: (_) @name) @definition.method
(lexical_declaration
  (variable_declarator name: (identifier) @name value: [
    (arrow_function body: (_) @body)
    (function_expression body: (_) @body)
    (generator_function body: (_) @body)])
) @definition.function
(variable_declaration
  (variable_declarator name: (identifier) @name value: [
    (arrow_function body: (_) @body)
    (function_expression body: (_) @body)
    (generator_function body: (_) @body)])
) @definition.function
(lexical_declaration (variable_declarator name: (identifier) @name value: (class))) @definition.class
(expression_statement
  (assignment_expression
    left: (member_expression property: (property_identifier) @name)
    right: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])
) @definition.function
(pair
  key: (property_identifier) @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.function
; Anonymous handlers that are passed to a call: `app.get('/x', (request, response) => …)`.
(expression_statement (call_expression
  function: (member_expression property: (property_identifier) @_on) @name
  arguments: (arguments . [(string) (template_string) (regex)] @argument
    [(arrow_function body: (_) @body) (function_expression body: (_) @body)]))
  (#any-of? @_on "get" "post" "put" "patch" "delete" "del" "head" "options" "all" "use" "on" "once" "ws" "addEventListener" "addListener")) @handler
(expression_statement (call_expression
  function: (member_expression property: (property_identifier) @_on) @name
  arguments: (arguments . [(arrow_function body: (_) @body) (function_expression body: (_) @body)]))
  (#eq? @_on "use")) @handler
(program (lexical_declaration (variable_declarator name: (identifier) @name)) @definition.variable)
(program (variable_declaration (variable_declarator name: (identifier) @name)) @definition.variable)
(program (export_statement
  declaration: (lexical_declaration (variable_declarator name: (identifier) @name)) @definition.variable))
(export_statement declaration: (_) @wrapped) @wrapper

(comment) @leading
(decorator) @leading
