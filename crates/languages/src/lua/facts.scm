; Facts of Lua.

; Parameters, types inferred from values, results
(parameters name: (identifier) @param)
((assignment_statement (variable_list . name: (identifier) .) (expression_list . value: (string) @inferred .)) (#set! value "string"))
((assignment_statement (variable_list . name: (identifier) .) (expression_list . value: (number) @inferred .)) (#set! value "number"))
((assignment_statement (variable_list . name: (identifier) .) (expression_list . value: [(true) (false)] @inferred .)) (#set! value "boolean"))
((assignment_statement (variable_list . name: (identifier) .) (expression_list . value: (table_constructor) @inferred .)) (#set! value "table"))
((assignment_statement (variable_list . name: (identifier) .) (expression_list . value: (function_definition) @inferred .)) (#set! value "function"))
; The `return` of a module is outside of any block.
((block (return_statement (expression_list)) @returns) (#not-match? @returns "^return\\s+nil;?$"))

; Modifiers
[(variable_declaration "local" @modifier) (function_declaration "local" @modifier)]
(attribute (identifier) @modifier)

; Imports: modules by their dotted names, files by their paths
((function_call name: (identifier) @_require arguments: (arguments . (string content: (string_content) @import)))
  (#eq? @_require "require"))
((function_call name: (identifier) @_pcall arguments: (arguments . (identifier) @_require . (string content: (string_content) @import)))
  (#eq? @_pcall "pcall") (#eq? @_require "require"))
((function_call name: (identifier) @_dofile arguments: (arguments . (string) @import))
  (#any-of? @_dofile "dofile" "loadfile"))

; Calls: a method is stored by its name
(function_call name: [
  (identifier) @call
  (dot_index_expression) @call
  (parenthesized_expression) @call
  (method_index_expression method: (identifier) @call)
  (bracket_index_expression field: (string content: (string_content) @call))]
  arguments: (_) @arguments)
((function_call name: (identifier) @_error arguments: (arguments . [
    (identifier) @throw
    (dot_index_expression) @throw
    (function_call name: (_) @throw)]))
  (#eq? @_error "error"))
((function_call name: (identifier) @_error arguments: (arguments . [(string) (binary_expression) (table_constructor)] @throw))
  (#eq? @_error "error") (#set! value "error"))
((function_call name: (dot_index_expression) @_yield arguments: (arguments (_) @yield))
  (#eq? @_yield "coroutine.yield"))
((function_call name: (dot_index_expression) @generator) (#eq? @generator "coroutine.yield"))

; Assignments
((assignment_statement (variable_list) @target (expression_list) @value) (#not-match? @target "<"))
(assignment_statement (variable_list . name: (identifier) @target . attribute: (attribute)) (expression_list) @value)
(for_numeric_clause name: (identifier) @target start: (_) @value)
(for_generic_clause (variable_list) @target (expression_list) @value)

; Identifiers
(identifier) @identifier
(variable_list name: [(identifier) @use (dot_index_expression field: (identifier) @use)])
(function_declaration name: [
  (dot_index_expression table: (identifier) @use)
  (method_index_expression table: (identifier) @use)])
(function_call name: (method_index_expression method: (identifier) @use))
[(field name: (identifier) @use)
 (attribute (identifier) @use)
 (goto_statement (identifier) @use)
 (label_statement (identifier) @use)]

; Control flow
[(if_statement) (elseif_statement) (else_statement)] @branch
[(for_statement) (while_statement) (repeat_statement)] @loop
(break_statement) @break
(return_statement) @return

; Comments
(comment) @comment

; Lint rules
((if_statement !consequence !alternative) @lint (#set! value "empty-block"))
((block (break_statement) . [
    (assignment_statement) (variable_declaration) (function_call) (if_statement) (for_statement) (while_statement)
    (repeat_statement) (return_statement) (break_statement)] @lint)
  (#set! value "unreachable-code"))
