; Facts of C++.
; The grammar reports errors for macros and incomplete #if branches; they are not counted.
;! without syntax-error
;! default-visibility public

; Parameters and types. Parameters of a function pointer are not parameters of the enclosing function.
(function_declarator
  declarator: [(identifier) (field_identifier) (qualified_identifier) (operator_name)]
  parameters: (parameter_list (_ declarator: [
    (identifier) @param
    (array_declarator declarator: (identifier) @param)
    (pointer_declarator declarator: (identifier) @param)
    (pointer_declarator declarator: (array_declarator declarator: (identifier) @param))
    (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @param))
    (reference_declarator (identifier) @param)
    (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (identifier) @param)))
    (reference_declarator (variadic_declarator (identifier) @param))
    (variadic_declarator (identifier) @param)])))
(abstract_function_declarator parameters: (parameter_list (_ declarator: [
    (identifier) @param
    (pointer_declarator declarator: (identifier) @param)
    (reference_declarator (identifier) @param)])))
(preproc_params (identifier) @param)
([
  (parameter_declaration type: (_) @type)
  (optional_parameter_declaration type: (_) @type)
  (variadic_parameter_declaration type: (_) @type)
  (for_range_loop type: (_) @type)
  (field_declaration type: (_) @type declarator: [(field_identifier) (array_declarator) (pointer_declarator declarator: (field_identifier)) (reference_declarator (field_identifier))])
  (declaration type: (_) @type declarator: [
    (identifier) (array_declarator) (init_declarator) (reference_declarator (identifier))
    (pointer_declarator declarator: [(identifier) (array_declarator) (pointer_declarator)])])
] (#not-match? @type "[{]|^auto|^decltype"))
; The star of a pointer belongs to the declarator; it matters for `void *`, which is a value.
((function_definition type: (_) @return_type declarator: [(function_declarator) (reference_declarator)]) (#not-match? @return_type "^auto|^decltype"))
((function_definition type: (_) @return_type declarator: (pointer_declarator)) (#not-any-of? @return_type "void" "char"))
((function_definition type: (_) @return_type declarator: (pointer_declarator)) (#eq? @return_type "void") (#set! value "void *"))
((function_definition type: (_) @return_type declarator: (pointer_declarator)) (#eq? @return_type "char") (#set! value "char *"))
([
  (declaration type: (_) @return_type declarator: (function_declarator declarator: (identifier)))
  (field_declaration type: (_) @return_type declarator: (function_declarator declarator: (field_identifier)))
  (declaration type: (_) @return_type declarator: (reference_declarator (function_declarator)))
  (field_declaration type: (_) @return_type declarator: (reference_declarator (function_declarator)))
] (#not-match? @return_type "^auto|^decltype"))
([
  (declaration type: (_) @return_type declarator: (pointer_declarator declarator: (function_declarator)))
  (field_declaration type: (_) @return_type declarator: (pointer_declarator declarator: (function_declarator)))
] (#not-any-of? @return_type "void" "char"))
([
  (declaration type: (_) @return_type declarator: (pointer_declarator declarator: (function_declarator)))
  (field_declaration type: (_) @return_type declarator: (pointer_declarator declarator: (function_declarator)))
] (#eq? @return_type "void") (#set! value "void *"))
([
  (declaration type: (_) @return_type declarator: (pointer_declarator declarator: (function_declarator)))
  (field_declaration type: (_) @return_type declarator: (pointer_declarator declarator: (function_declarator)))
] (#eq? @return_type "char") (#set! value "char *"))
(trailing_return_type (type_descriptor) @return_type)

; Types inferred from values
([
  (init_declarator value: (number_literal) @inferred) (field_declaration default_value: (number_literal) @inferred) (optional_parameter_declaration default_value: (number_literal) @inferred)
] (#match? @inferred "^([0-9]+|0[xX][0-9a-fA-F]+)[uUlL]*$") (#set! value "int"))
([
  (init_declarator value: (number_literal) @inferred) (field_declaration default_value: (number_literal) @inferred) (optional_parameter_declaration default_value: (number_literal) @inferred)
] (#match? @inferred "^[0-9]*([0-9][.]|[.][0-9])") (#set! value "double"))
([
  (init_declarator value: [(string_literal) (raw_string_literal) (concatenated_string)] @inferred) (field_declaration default_value: [(string_literal) (raw_string_literal) (concatenated_string)] @inferred) (optional_parameter_declaration default_value: [(string_literal) (raw_string_literal) (concatenated_string)] @inferred)
] (#set! value "char *"))
([
  (init_declarator value: (char_literal) @inferred) (field_declaration default_value: (char_literal) @inferred) (optional_parameter_declaration default_value: (char_literal) @inferred)
] (#set! value "char"))
([
  (init_declarator value: [(true) (false)] @inferred) (field_declaration default_value: [(true) (false)] @inferred) (optional_parameter_declaration default_value: [(true) (false)] @inferred)
] (#set! value "bool"))
[
  (init_declarator value: [
    (new_expression type: (_) @inferred)
    (compound_literal_expression type: (_) @inferred)
    (cast_expression type: (_) @inferred)])
  (assignment_expression right: [
    (new_expression type: (_) @inferred)
    (compound_literal_expression type: (_) @inferred)
    (cast_expression type: (_) @inferred)])
]
((init_declarator value: (call_expression function: [(identifier) (qualified_identifier)] @inferred)) (#match? @inferred "^(\\w+::)*[A-Z]\\w*[a-z]\\w*$") (#not-match? @inferred "::.*::|[A-Z]\\w*::"))
((init_declarator value: (call_expression function: (qualified_identifier name: (template_function
  name: (identifier) @_maker arguments: (template_argument_list . (type_descriptor) @inferred)))))
 (#any-of? @_maker "make_unique" "make_shared"))
((init_declarator value: (call_expression function: (template_function
  name: (identifier) @_cast arguments: (template_argument_list . (type_descriptor) @inferred))))
 (#any-of? @_cast "static_cast" "dynamic_cast" "reinterpret_cast" "const_cast"))

; Modifiers and visibility
(attribute_specifier (argument_list (_) @decorator))
(attribute_declaration (attribute) @decorator)
(ms_declspec_modifier (identifier) @decorator)
[(storage_class_specifier) (type_qualifier) (virtual_specifier) (explicit_function_specifier)] @modifier
["virtual" "friend"] @modifier
; An access label applies to the members after it, up to the next label; without one, the default is public.
((access_specifier) @_access . [(field_declaration) (function_definition) (declaration) (template_declaration) (alias_declaration) (type_definition) (friend_declaration) (using_declaration) (comment)]+ @visibility (#eq? @_access "protected") (#set! value "protected"))
((access_specifier) @_access . [(field_declaration) (function_definition) (declaration) (template_declaration) (alias_declaration) (type_definition) (friend_declaration) (using_declaration) (comment)]+ @visibility (#eq? @_access "private") (#set! value "private"))
((class_specifier body: (field_declaration_list . [(field_declaration) (function_definition) (declaration) (template_declaration) (alias_declaration) (type_definition) (friend_declaration) (using_declaration) (comment)]+ @visibility)) (#set! value "private"))
; `static` makes a definition private to its file; inside a class or a function it has another meaning.
((function_definition (storage_class_specifier) @visibility declarator: [
  (function_declarator declarator: (identifier))
  (pointer_declarator declarator: (function_declarator declarator: (identifier)))
  (reference_declarator (function_declarator declarator: (identifier)))
]) (#eq? @visibility "static") (#set! value "private"))
((declaration (storage_class_specifier) @visibility declarator: (function_declarator)) (#eq? @visibility "static") (#set! value "private"))
((translation_unit (declaration (storage_class_specifier) @visibility)) (#eq? @visibility "static") (#set! value "private"))

(base_class_clause [(type_identifier) @extends (qualified_identifier) @extends (template_type name: (_) @extends)])
(preproc_include path: (_) @import)

; Calls, including the creation of objects
(call_expression function: (_) @call arguments: (_) @arguments)
(new_expression type: (_) @call arguments: (_)? @arguments)
(compound_literal_expression type: [(type_identifier) (qualified_identifier) (template_type)] @call value: (_) @arguments)
(declaration type: [(type_identifier) (qualified_identifier) (template_type)] @call declarator: (init_declarator value: (argument_list) @arguments))
(throw_statement [
  (identifier) @throw
  (qualified_identifier) @throw
  (field_expression) @throw
  (call_expression function: (_) @throw)
  (compound_literal_expression type: (_) @throw)
  (new_expression type: (_) @throw)])
((call_expression function: (_) @throw)
 (#any-of? @throw "abort" "std::abort" "std::terminate" "std::rethrow_exception" "longjmp" "std::longjmp" "__builtin_trap"))
(co_await_expression argument: [(call_expression function: (_) @await) (identifier) @await (field_expression) @await (qualified_identifier) @await])
[(co_await_expression) (co_return_statement)] @async
(co_yield_statement (_) @yield)

; Assignments: the target of a declarator is its name
(init_declarator
  declarator: [
    (identifier) @target
    (array_declarator declarator: (identifier) @target)
    (pointer_declarator declarator: (identifier) @target)
    (pointer_declarator declarator: (array_declarator declarator: (identifier) @target))
    (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @target))
    (reference_declarator (identifier) @target)
    (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (identifier) @target)))]
  value: (_) @value)
(init_declarator declarator: [(structured_binding_declarator) @target (reference_declarator (structured_binding_declarator) @target)] value: (_) @value)
(structured_binding_declarator (identifier) @use)
(for_range_loop
  declarator: [
    (identifier) @target
    (pointer_declarator declarator: (identifier) @target)
    (reference_declarator [(identifier) (structured_binding_declarator)] @target)
    (structured_binding_declarator) @target]
  right: (_) @value)
(catch_clause parameters: (parameter_list (parameter_declaration declarator: [(identifier) @target (reference_declarator (identifier) @target) (pointer_declarator declarator: (identifier) @target)])))
(lambda_capture_initializer left: (identifier) @target right: (_) @value)
(field_declaration declarator: (field_identifier) @target default_value: (_) @value)
(field_initializer (field_identifier) @target (argument_list . (_) @value .))
(field_initializer (field_identifier) @target (initializer_list . (_) @value .))
(assignment_expression left: (_) @target right: (_) @value)
(update_expression argument: (_) @target)

; Names
(identifier) @identifier
(field_expression field: (field_identifier) @identifier)
[(type_identifier) (namespace_identifier) (statement_identifier)] @use
[(template_function name: (identifier) @use) (template_method name: (field_identifier) @use)]
(field_designator (_) @use)
(enumerator name: (_) @use)
[
  (declaration declarator: (identifier) @use)
  (parameter_declaration declarator: (identifier) @use)
  (optional_parameter_declaration declarator: (identifier) @use)
  (pointer_declarator declarator: (identifier) @use)
  (array_declarator declarator: (identifier) @use)
  (reference_declarator (identifier) @use)
  (variadic_declarator (identifier) @use)
  (function_declarator declarator: [
    (identifier) @use
    (qualified_identifier name: (identifier) @use)
    (qualified_identifier name: (qualified_identifier name: (identifier) @use))])
  (destructor_name (identifier) @use)
  (using_declaration [(identifier) @use (qualified_identifier name: (identifier) @use)])
]
; Preprocessor and compiler
[(preproc_ifdef name: (_) @use) (preproc_defined (_) @use) (preproc_def name: (_) @use !value) (preproc_call argument: (_) @use)]
(attribute_specifier (argument_list [(identifier) @use (call_expression arguments: (argument_list (identifier) @use))]))
(attribute name: (_) @use)
(ms_declspec_modifier (identifier) @use)

; Control flow
[(if_statement) (else_clause) (switch_statement) (case_statement) (conditional_expression) (try_statement) (catch_clause)] @branch
[(seh_try_statement) (seh_except_clause) (seh_finally_clause)] @branch
[(for_statement) (for_range_loop) (while_statement) (do_statement)] @loop
(break_statement) @break
(continue_statement) @continue
[(return_statement) (co_return_statement)] @return
[(return_statement (_)) (co_return_statement (_))] @returns

(comment) @comment

; Lint rules. Code that may contain a label is reachable by a jump; a `break` after a `return` is idiomatic.
([
  (compound_statement [(return_statement) (break_statement) (continue_statement) (goto_statement) (throw_statement) (co_return_statement)] .
    [(expression_statement) (return_statement) (throw_statement) (declaration)] @lint)
  (case_statement [(return_statement) (break_statement) (continue_statement) (goto_statement) (throw_statement) (co_return_statement)] .
    [(expression_statement) (return_statement) (throw_statement) (declaration)] @lint)
] (#set! value "unreachable-code"))
((catch_clause body: (compound_statement "{" . (comment)* . "}")) @lint (#set! value "empty-catch"))
((catch_clause parameters: (parameter_list (parameter_declaration
  type: [(type_identifier) (qualified_identifier) (template_type)] declarator: (identifier)) @lint)) (#set! value "catch-by-value"))
((throw_statement (new_expression)) @lint (#set! value "throw-pointer"))
((goto_statement) @lint (#set! value "goto"))
((if_statement condition: (condition_clause value: (assignment_expression operator: "=") @lint)) (#set! value "assignment-in-condition"))
((if_statement consequence: (compound_statement "{" . "}") @lint) (#set! value "empty-block"))
((assignment_expression left: (_) @_left operator: "=" right: (_) @_right) @lint
 (#eq? @_left @_right) (#set! value "self-assignment"))
