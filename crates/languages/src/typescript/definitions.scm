; Definitions of TypeScript and TSX. The earliest pattern wins for a name.
(class_declaration name: (type_identifier) @name) @definition.class
(abstract_class_declaration name: (type_identifier) @name) @definition.class
(interface_declaration name: (type_identifier) @name) @definition.interface
(enum_declaration name: (identifier) @name) @definition.enum
(type_alias_declaration name: (type_identifier) @name) @definition.type
(internal_module name: (_) @name) @definition.module
(module name: (_) @name) @definition.module
(function_signature name: (identifier) @name) @definition.function
(abstract_method_signature name: (_) @name) @definition.method
(interface_body (method_signature name: (_) @name) @definition.method)
(public_field_definition
  name: (_) @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.method
(ambient_declaration (_) @wrapped) @wrapper
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
(enum_body (property_identifier) @name @member.variable)
(enum_assignment name: (property_identifier) @name) @member.variable
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
