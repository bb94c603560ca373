; Facts of C.
; The grammar reports errors for macros and incomplete #if branches; they are not counted.
;! without syntax-error
;! default-visibility public

; Parameters and types. Parameters of a function pointer are not parameters of the enclosing function.
(function_declarator declarator: (identifier) parameters: (parameter_list (parameter_declaration declarator: [
  (identifier) @param
  (array_declarator declarator: (identifier) @param)
  (pointer_declarator declarator: (identifier) @param)
  (pointer_declarator declarator: (array_declarator declarator: (identifier) @param))
  (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @param))
  (pointer_declarator declarator: (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @param)))
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (identifier) @param)))
])))
(preproc_params (identifier) @param)
((parameter_declaration type: (_) @type declarator: (_)) (#not-match? @type "[{]"))
((field_declaration type: (_) @type) (#not-match? @type "[{]"))
((declaration type: (_) @type declarator: [
  (identifier) (array_declarator) (init_declarator)
  (pointer_declarator declarator: [(identifier) (array_declarator) (pointer_declarator)])
]) (#not-match? @type "[{]"))
; The star of a pointer belongs to the declarator; it matters for `void *`, which is a value.
(function_definition type: (_) @return_type declarator: (function_declarator))
((function_definition type: (_) @return_type declarator: (pointer_declarator)) (#not-any-of? @return_type "void" "char"))
((function_definition type: (_) @return_type declarator: (pointer_declarator)) (#eq? @return_type "void") (#set! value "void *"))
((function_definition type: (_) @return_type declarator: (pointer_declarator)) (#eq? @return_type "char") (#set! value "char *"))
(declaration type: (_) @return_type declarator: (function_declarator declarator: (identifier)))
((declaration type: (_) @return_type declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier)))) (#not-any-of? @return_type "void" "char"))
((declaration type: (_) @return_type declarator: (pointer_declarator declarator: (function_declarator))) (#eq? @return_type "void") (#set! value "void *"))
((declaration type: (_) @return_type declarator: (pointer_declarator declarator: (function_declarator))) (#eq? @return_type "char") (#set! value "char *"))

; Types inferred from values
((init_declarator value: (number_literal) @inferred) (#match? @inferred "^([0-9]+|0[xX][0-9a-fA-F]+)[uUlL]*$") (#set! value "int"))
((init_declarator value: (number_literal) @inferred) (#match? @inferred "^[0-9]*([0-9][.]|[.][0-9])") (#set! value "double"))
((init_declarator value: [(string_literal) (concatenated_string)] @inferred) (#set! value "char *"))
((init_declarator value: (char_literal) @inferred) (#set! value "char"))
((init_declarator value: [(true) (false)] @inferred) (#set! value "bool"))
[
  (init_declarator value: [(compound_literal_expression type: (_) @inferred) (cast_expression type: (_) @inferred)])
  (assignment_expression right: [(compound_literal_expression type: (_) @inferred) (cast_expression type: (_) @inferred)])
]

; Modifiers and visibility
(attribute_specifier (argument_list (_) @decorator))
(attribute_declaration (attribute) @decorator)
(ms_declspec_modifier (identifier) @decorator)
[(storage_class_specifier) (type_qualifier)] @modifier
; `static` makes a definition private to its file; inside a function it has another meaning.
([
  (function_definition (storage_class_specifier) @visibility)
  (declaration (storage_class_specifier) @visibility declarator: (function_declarator))
  (declaration (storage_class_specifier) @visibility declarator: (pointer_declarator declarator: (function_declarator)))
  (translation_unit (declaration (storage_class_specifier) @visibility))
] (#eq? @visibility "static") (#set! value "private"))

(preproc_include path: (_) @import)

; Calls, and calls that terminate
(call_expression function: (_) @call arguments: (_) @arguments)
((call_expression function: (identifier) @throw) (#any-of? @throw "abort" "longjmp" "_longjmp" "siglongjmp" "__builtin_trap"))

; Assignments: the target of a declarator is its name
(init_declarator
  declarator: [
    (identifier) @target
    (array_declarator declarator: (identifier) @target)
    (pointer_declarator declarator: (identifier) @target)
    (pointer_declarator declarator: (array_declarator declarator: (identifier) @target))
    (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @target))
    (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (identifier) @target)))]
  value: (_) @value)
(assignment_expression left: (_) @target right: (_) @value)
(update_expression argument: (_) @target)

; Names
(identifier) @identifier
(field_expression field: (_) @identifier)
[(type_identifier) (statement_identifier)] @use
(field_designator (_) @use)
(enumerator name: (_) @use)
[
  (declaration declarator: (identifier) @use)
  (parameter_declaration declarator: (identifier) @use)
  (pointer_declarator declarator: (identifier) @use)
  (array_declarator declarator: (identifier) @use)
  (function_declarator declarator: (identifier) @use)
]
; Preprocessor and compiler
[(preproc_ifdef name: (_) @use) (preproc_defined (_) @use) (preproc_def name: (_) @use !value) (preproc_call argument: (_) @use)]
(attribute_specifier (argument_list [(identifier) @use (call_expression arguments: (argument_list (identifier) @use))]))
(attribute name: (_) @use)
(ms_declspec_modifier (identifier) @use)

; Control flow
[(if_statement) (else_clause) (switch_statement) (case_statement) (conditional_expression)] @branch
[(seh_try_statement) (seh_except_clause) (seh_finally_clause)] @branch
[(for_statement) (while_statement) (do_statement)] @loop
(break_statement) @break
(continue_statement) @continue
(return_statement) @return
(return_statement (_)) @returns

(comment) @comment

; Lint rules. Code that may contain a label is reachable by a jump; a `break` after a `return` is idiomatic.
([
  (compound_statement
    [(return_statement) (break_statement) (continue_statement) (goto_statement)] . [(expression_statement) (return_statement) (declaration)] @lint)
  (case_statement
    [(return_statement) (break_statement) (continue_statement) (goto_statement)] . [(expression_statement) (return_statement) (declaration)] @lint)
] (#set! value "unreachable-code"))
((if_statement condition: (parenthesized_expression (assignment_expression operator: "=") @lint)) (#set! value "assignment-in-condition"))
((if_statement consequence: (compound_statement "{" . "}") @lint) (#set! value "empty-block"))
((assignment_expression left: (_) @_left operator: "=" right: (_) @_right) @lint
 (#eq? @_left @_right) (#set! value "self-assignment"))
