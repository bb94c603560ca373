; Facts of Zig.
;! default-visibility private

; Parameters and types.
(parameter name: (identifier) @param)
(parameter type: (_) @type)
(container_field type: (_) @type)
(variable_declaration type: (_) @type)
; `E!T` yields both the whole type and `T`; `!void` returns no value.
((function_declaration type: (_) @return_type) (#not-match? @return_type "!(void|noreturn)$"))
(function_declaration type: (error_union_type ok: (_) @return_type))

; Types inferred from values.
((variable_declaration !type "=" . [(string) (multiline_string)] @inferred) (#set! value "[]const u8"))
((variable_declaration !type "=" . (integer) @inferred) (#set! value "comptime_int"))
((variable_declaration !type "=" . (float) @inferred) (#set! value "comptime_float"))
((variable_declaration !type "=" . (boolean) @inferred) (#set! value "bool"))
((variable_declaration !type "=" . (character) @inferred) (#set! value "u8"))
(variable_declaration !type "=" . (struct_initializer . [(identifier) (field_expression) (array_type)] @inferred))
((variable_declaration !type "=" . (builtin_function (builtin_identifier) @_as (arguments . (_) @inferred))) (#eq? @_as "@as"))
([
  (variable_declaration !type "=" . (call_expression function: (field_expression object: (_) @inferred member: (identifier) @_make)))
  (variable_declaration !type "=" . (try_expression (call_expression function: (field_expression object: (_) @inferred member: (identifier) @_make))))
] (#match? @_make "^(init|create)") (#match? @inferred "(^|[.])[A-Z][A-Za-z0-9]*([(].*[)])?$"))

; Return values; errors are not values.
((return_expression "return" . (_) @_value) @returns (#not-match? @_value "^error[.]"))

; Modifiers and visibility.
(function_declaration ["pub" "export" "extern" "inline" "noinline"] @modifier)
(variable_declaration ["pub" "export" "extern" "threadlocal"] @modifier)
(parameter ["comptime" "noalias"] @modifier)
(container_field "comptime" @modifier)
(struct_declaration ["packed" "extern"] @modifier)
(union_declaration ["packed" "extern"] @modifier)
(function_declaration "pub" @visibility)
(variable_declaration "pub" @visibility)

; Imports and exports.
((builtin_function (builtin_identifier) @_import (arguments . (string) @import)) (#any-of? @_import "@import" "@cInclude"))
(using_namespace_declaration (field_expression) @import)
(function_declaration ["pub" "export"] name: (identifier) @export)
(variable_declaration ["pub" "export"] ["const" "var"] . (identifier) @export)

; Asynchronous code.
[(suspend_statement) (await_expression)] @async
(await_expression [(identifier) (field_expression)] @await)
(await_expression (call_expression function: (_) @await))
(await_expression (async_expression (call_expression function: (_) @await)))

; Calls. The grammar has no node for the arguments, so the call itself is captured.
(call_expression function: (_) @call) @arguments
(builtin_function (builtin_identifier) @call (arguments) @arguments (#not-any-of? @call "@import" "@cInclude"))

; Throws: returned errors, and panics.
(return_expression (error_type (identifier) @throw))
((return_expression (field_expression object: (_) @_set member: (identifier) @throw)) (#match? @_set "Errors?$"))
((builtin_function (builtin_identifier) @throw) (#eq? @throw "@panic"))
((call_expression function: (field_expression member: (identifier) @throw)) (#eq? @throw "panic"))

; Assignments and bindings: a name is directly before its value, its type or another name.
((variable_declaration !type [(identifier) (field_expression object: (_)) (index_expression) (dereference_expression)] @target . (_) @value .)
  (#not-match? @value "^((packed|extern) )?(struct|enum|union|opaque|error)[ ({]"))
(variable_declaration . (identifier) @target . ":" "=" . (_) @value)
(variable_declaration [(identifier) (field_expression object: (_)) (index_expression) (dereference_expression)] @target . "," "=" . (_) @value)
(assignment_expression left: [(identifier) (field_expression object: (_)) (index_expression) (dereference_expression)] @target right: (_) @value)
[
  (for_statement "(" . (_) @value (payload . (identifier) @target))
  (for_expression "(" . (_) @value (payload . (identifier) @target))
  (while_statement condition: (_) @value (payload (identifier) @target))
  (while_expression condition: (_) @value ")" . (payload (identifier) @target))
  (if_statement condition: (_) @value (payload (identifier) @target))
  (if_expression condition: (_) @value ")" . (payload (identifier) @target))
  (switch_expression "(" . (_) @value (switch_case (payload (identifier) @target)))
]
; All names between bars are bound, also those without a value of their own, such as an error or an index.
(payload (identifier) @target)

; Names. Types are expressions in Zig; those in the position of a type are not values.
(identifier) @identifier
[
  (parameter type: (identifier) @use)
  (container_field type: (identifier) @use)
  (variable_declaration type: (identifier) @use)
  (function_declaration type: (identifier) @use)
  (parameter type: (field_expression member: (identifier) @use))
  (container_field type: (field_expression member: (identifier) @use))
  (error_union_type (identifier) @use)
  (error_union_type (field_expression member: (identifier) @use))
  (pointer_type (identifier) @use .)
  (slice_type (identifier) @use .)
  (array_type (identifier) @use .)
  (nullable_type (identifier) @use)
  (struct_initializer . (identifier) @use)
  (struct_initializer . (field_expression member: (identifier) @use))
  (container_field name: (identifier) @use)
  (field_expression !object member: (identifier) @use)
  (field_initializer . (identifier) @use)
  (error_type (identifier) @use)
  (error_set_declaration (identifier) @use)
  (block_label (identifier) @use)
  (break_label (identifier) @use)
  (variable_declaration !type (field_expression object: (_) member: (identifier) @use) . "=")
]
((array_type . (identifier) @use . "]") (#eq? @use "_"))
; The name of a container is that of its definition, or is not a value.
((variable_declaration . (identifier) @use . "=" . [(struct_declaration) (enum_declaration) (union_declaration) (opaque_declaration) (error_set_declaration)]))

; Control flow.
[(if_statement) (if_expression) (if_type_expression) (switch_expression) (switch_case) (try_expression) (catch_expression)] @branch
(if_statement (else_clause "else" @branch))
(if_expression "else" @branch)
(if_type_expression "else" @branch)
[(for_statement) (for_expression) (while_statement) (while_expression)] @loop
(break_expression) @break
(continue_expression) @continue
(return_expression) @return

; Comments and lint rules.
(comment) @comment
((catch_expression "catch" (block "{" . "}") @lint) (#set! value "empty-catch"))
((catch_expression "catch" (block "{" . (comment)+ . "}") @lint) (#set! value "empty-catch"))
((catch_expression "catch" . "unreachable" @lint) (#set! value "catch-unreachable"))
((block (expression_statement [(return_expression) (break_expression) (continue_expression)]) . [
  (expression_statement) (variable_declaration) (if_statement) (labeled_statement) (switch_expression) (defer_statement)
] @lint) (#set! value "unreachable-code"))
