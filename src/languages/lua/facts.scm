; What Lua code does.
; What is not local can be seen by everybody.
;! default-visibility public

(parameters name: (identifier) @param)

; What values tell of their type
((assignment_statement (expression_list value: (string) @inferred)) (#set! value "string"))
((assignment_statement (expression_list value: (number) @inferred)) (#set! value "number"))
((assignment_statement (expression_list value: [(true) (false)] @inferred)) (#set! value "boolean"))
((assignment_statement (expression_list value: (table_constructor) @inferred)) (#set! value "table"))

; What is given back; a file's own `return` is no function's
(block (return_statement (expression_list)) @returns)

; Modifiers and visibility
[(function_declaration "local" @modifier) (variable_declaration "local" @modifier)]
(attribute (identifier) @modifier)
([(function_declaration "local" @visibility) (variable_declaration "local" @visibility)] (#set! value "private"))

; Modules
((function_call name: (identifier) @_require arguments: (arguments . (string content: (_) @import) .))
  (#eq? @_require "require"))
((function_call name: (identifier) @_require arguments: (arguments . (string) @import .))
  (#any-of? @_require "dofile" "loadfile"))
((arguments . (identifier) @_require . (string content: (_) @import)) (#eq? @_require "require"))

; Calls. Of a method's, its name.
(function_call name: [(identifier) (dot_index_expression)] @call arguments: (_) @arguments)
(function_call name: (method_index_expression method: (identifier) @call) arguments: (_) @arguments)

; Errors, with what they carry
((function_call name: (identifier) @throw) (#eq? @throw "error"))
((function_call name: (identifier) @_error arguments: (arguments . [(string) (identifier) (dot_index_expression)] @throw))
  (#eq? @_error "error"))

; Coroutines
((function_call name: (dot_index_expression) @_yield arguments: (arguments . (_) @yield)) (#eq? @_yield "coroutine.yield"))
((function_call name: (dot_index_expression) @generator) (#eq? @generator "coroutine.yield"))

; Assignments
(assignment_statement (variable_list name: (_) @target) (expression_list) @value)
(for_numeric_clause name: (identifier) @target start: (_) @value)
(for_generic_clause (variable_list name: (identifier) @target) (expression_list) @value)

; Identifiers
(identifier) @identifier
[
  (variable_list name: (identifier) @use)
  (variable_list name: (dot_index_expression field: (identifier) @use))
  (field name: (identifier) @use)
  (attribute (identifier) @use)
  (goto_statement (identifier) @use)
  (label_statement (identifier) @use)
]

; Control flow
[(if_statement) (elseif_statement) (else_statement)] @branch
[(for_statement) (while_statement) (repeat_statement)] @loop
(break_statement) @break
; The language has no word for it, people jump to a label of this name.
((goto_statement (identifier) @continue) (#any-of? @continue "continue" "next"))
(return_statement) @return

(comment) @comment

; Rules
((block [(break_statement) (goto_statement)] . (_) @lint)
  (#not-match? @lint "^(--|::|;)") (#set! value "unreachable-code"))
((goto_statement (identifier) @_label) @lint (#not-any-of? @_label "continue" "next") (#set! value "goto"))
