; Definitions of Ruby. The earliest pattern wins for a name.
(class name: (_) @name) @definition.class
(module name: (_) @name) @definition.module
(method name: (_) @name) @definition.function
(singleton_method name: (_) @name) @definition.method
(program (assignment left: (constant) @name) @definition.variable)
(body_statement (assignment left: (constant) @name) @definition.variable)
(alias name: (identifier) @name) @member.method
(call !receiver method: (identifier) @_macro arguments: (argument_list (simple_symbol) @name)
  (#any-of? @_macro "attr_reader" "attr_writer" "attr_accessor" "cattr_accessor" "mattr_accessor" "class_attribute")) @member.method
(call !receiver method: (identifier) @_macro arguments: (argument_list . (simple_symbol) @name)
  (#any-of? @_macro "alias_method" "define_method")) @member.method
; Anonymous handlers that are passed to a call: `get '/x' do … end`.
(call !receiver method: (identifier) @name arguments: (argument_list . (string) @argument) block: [(do_block body: (_) @body) (block body: (_) @body)]
  (#any-of? @name "get" "post" "put" "patch" "delete" "head" "options")) @handler

(comment) @leading
