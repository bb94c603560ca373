; Definitions of Go. The earliest pattern wins for a name.
(function_declaration name: (identifier) @name) @definition.function
(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @receiver
    (generic_type type: (type_identifier) @receiver)
    (pointer_type (type_identifier) @receiver)
    (pointer_type (generic_type type: (type_identifier) @receiver))]))
  name: (field_identifier) @name) @definition.method
(type_spec name: (type_identifier) @name type: (struct_type)) @definition.struct
(type_spec name: (type_identifier) @name type: (interface_type)) @definition.interface
(type_spec name: (type_identifier) @name) @definition.type
(type_alias name: (type_identifier) @name) @definition.type
(method_elem name: (field_identifier) @name) @member.method
(type_declaration . [(type_spec) (type_alias)] @wrapped .) @wrapper
(source_file (const_declaration (const_spec name: (identifier) @name) @definition.variable))
(source_file (var_declaration (var_spec name: (identifier) @name) @definition.variable))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @definition.variable)))
(const_declaration . (const_spec) @wrapped .) @wrapper
(var_declaration . (var_spec) @wrapped .) @wrapper

; Anonymous handlers that are passed to a call: `mux.HandleFunc("/x", func(…) { … })`.
(expression_statement (call_expression
  function: (selector_expression field: (field_identifier) @_on) @name
  arguments: (argument_list . [(interpreted_string_literal) (raw_string_literal)] @argument (func_literal body: (_) @body)))
  (#any-of? @_on "HandleFunc" "Handle" "Get" "Post" "Put" "Patch" "Delete" "Head" "Options" "Any" "GET" "POST" "PUT" "PATCH" "DELETE" "HEAD" "OPTIONS")) @handler

(comment) @leading
