; Facts of Kotlin. The grammar treats `true`, `null`, `break` and `continue` as identifiers.
;! default-visibility public

; Parameters and types.
[
  (parameter . (identifier) @param)
  (class_parameter (identifier) @param . ":")
  (setter (identifier) @param)
  (lambda_parameters (variable_declaration (identifier) @param))
  (lambda_parameters (multi_variable_declaration (variable_declaration (identifier) @param)))
]
[
  (parameter [(user_type) (nullable_type) (function_type) (parenthesized_type) (non_nullable_type)] @type)
  (class_parameter [(user_type) (nullable_type) (function_type) (parenthesized_type) (non_nullable_type)] @type)
  (variable_declaration [(user_type) (nullable_type) (function_type) (parenthesized_type) (non_nullable_type)] @type)
  (catch_block (user_type) @type)
]
; The receiver's type precedes the name, the return type follows the parameters.
[
  (function_declaration (function_value_parameters) . ":" . [(user_type) (nullable_type) (function_type) (parenthesized_type) (non_nullable_type)] @return_type)
  (anonymous_function (function_value_parameters) . ":" . [(user_type) (nullable_type) (function_type) (parenthesized_type) (non_nullable_type)] @return_type)
  (getter ":" . [(user_type) (nullable_type) (function_type) (parenthesized_type) (non_nullable_type)] @return_type)
  (function_type "->" . [(user_type) (nullable_type) (function_type) (parenthesized_type) (non_nullable_type)] @return_type)
]

; Types inferred from values.
([
  (property_declaration "=" . [(string_literal) (multiline_string_literal)] @inferred)
  (class_parameter "=" . [(string_literal) (multiline_string_literal)] @inferred)
  (function_value_parameters "=" . [(string_literal) (multiline_string_literal)] @inferred)
  (assignment operator: "=" right: [(string_literal) (multiline_string_literal)] @inferred)
] (#set! value "String"))
([
  (property_declaration "=" . (number_literal) @inferred)
  (class_parameter "=" . (number_literal) @inferred)
  (function_value_parameters "=" . (number_literal) @inferred)
  (assignment operator: "=" right: (number_literal) @inferred)
] (#not-match? @inferred "[uUlL]$") (#set! value "Int"))
([
  (property_declaration "=" . (number_literal) @inferred)
  (class_parameter "=" . (number_literal) @inferred)
  (function_value_parameters "=" . (number_literal) @inferred)
  (assignment operator: "=" right: (number_literal) @inferred)
] (#match? @inferred "[0-9a-fA-F][lL]$") (#set! value "Long"))
([
  (property_declaration "=" . (float_literal) @inferred)
  (class_parameter "=" . (float_literal) @inferred)
  (function_value_parameters "=" . (float_literal) @inferred)
  (assignment operator: "=" right: (float_literal) @inferred)
] (#not-match? @inferred "[fF]$") (#set! value "Double"))
([
  (property_declaration "=" . (float_literal) @inferred)
  (class_parameter "=" . (float_literal) @inferred)
  (function_value_parameters "=" . (float_literal) @inferred)
] (#match? @inferred "[fF]$") (#set! value "Float"))
([
  (property_declaration "=" . (identifier) @inferred)
  (class_parameter "=" . (identifier) @inferred)
  (function_value_parameters "=" . (identifier) @inferred)
  (assignment operator: "=" right: (identifier) @inferred)
] (#any-of? @inferred "true" "false") (#set! value "Boolean"))
([
  (property_declaration "=" . (character_literal) @inferred)
  (class_parameter "=" . (character_literal) @inferred)
  (function_value_parameters "=" . (character_literal) @inferred)
] (#set! value "Char"))
([
  (property_declaration "=" . (call_expression . (identifier) @inferred))
  (property_declaration "=" . (call_expression . (navigation_expression (identifier) @inferred .)))
  (property_declaration "=" . (binary_expression left: (binary_expression left: (identifier) @inferred operator: "<") operator: ">" right: (parenthesized_expression)))
  (class_parameter "=" . (call_expression . (identifier) @inferred))
  (function_value_parameters "=" . (call_expression . (identifier) @inferred))
  (assignment operator: "=" right: (call_expression . (identifier) @inferred))
] (#match? @inferred "^[A-Z][A-Za-z0-9]*[a-z]"))
(property_declaration "=" . (as_expression right: (_) @inferred))
((property_declaration "=" . (call_expression . (identifier) @inferred)) (#any-of? @inferred "listOf" "emptyList") (#set! value "List"))
((property_declaration "=" . (call_expression . (identifier) @inferred)) (#any-of? @inferred "mapOf" "emptyMap") (#set! value "Map"))
((property_declaration "=" . (call_expression . (identifier) @inferred)) (#any-of? @inferred "setOf" "emptySet") (#set! value "Set"))
((property_declaration "=" . (call_expression . (identifier) @inferred)) (#eq? @inferred "mutableListOf") (#set! value "MutableList"))
((property_declaration "=" . (call_expression . (identifier) @inferred)) (#eq? @inferred "mutableMapOf") (#set! value "MutableMap"))
((property_declaration "=" . (call_expression . (identifier) @inferred)) (#eq? @inferred "mutableSetOf") (#set! value "MutableSet"))

; Return values; a label names the function.
(return_expression "return" . (_)) @returns
(return_expression label: (_) . (_)) @returns
(function_body "=" . (_) @returns)

; Annotations, modifiers, visibility. The visibility of a constructor or a setter is not that of its class or property.
[(annotation) (file_annotation)] @decorator
[
  (class_modifier) (member_modifier) (function_modifier) (property_modifier) (visibility_modifier)
  (inheritance_modifier) (parameter_modifier) (platform_modifier) (reification_modifier)
] @modifier
(companion_object "companion" @modifier)
(type_modifiers "suspend" @modifier)
[
  (class_declaration (modifiers (visibility_modifier) @visibility))
  (object_declaration (modifiers (visibility_modifier) @visibility))
  (companion_object (modifiers (visibility_modifier) @visibility))
  (function_declaration (modifiers (visibility_modifier) @visibility))
  (property_declaration (modifiers (visibility_modifier) @visibility))
  (secondary_constructor (modifiers (visibility_modifier) @visibility))
  (type_alias (modifiers (visibility_modifier) @visibility))
]

; Base types: a class is constructed in the heading, an interface is only named.
(delegation_specifier (constructor_invocation (user_type (identifier) @extends . (type_arguments)? .)))
(class_declaration "interface" (delegation_specifiers (delegation_specifier (user_type (identifier) @extends . (type_arguments)? .))))
[
  (class_declaration "class" (delegation_specifiers (delegation_specifier (user_type (identifier) @implements . (type_arguments)? .))))
  (object_declaration (delegation_specifiers (delegation_specifier (user_type (identifier) @implements . (type_arguments)? .))))
  (companion_object (delegation_specifiers (delegation_specifier (user_type (identifier) @implements . (type_arguments)? .))))
  (object_literal (delegation_specifiers (delegation_specifier (user_type (identifier) @implements . (type_arguments)? .))))
  (explicit_delegation . (user_type (identifier) @implements . (type_arguments)? .))
]

(import (qualified_identifier) @import)

; Calls. A call with a trailing lambda is a nested call.
(call_expression . [(identifier) (navigation_expression) (unary_expression) (index_expression) (parenthesized_expression)] @call [(value_arguments) (annotated_lambda)] @arguments)
(delegation_specifier (constructor_invocation (user_type) @call (value_arguments) @arguments))
(constructor_delegation_call ["this" "super"] @call (value_arguments) @arguments)
(infix_expression (_) . (identifier) @call . (_))
; The grammar parses `of<T>(x)` as two comparisons.
(binary_expression left: (binary_expression left: [(identifier) (navigation_expression)] @call operator: "<" right: (identifier) @use) operator: ">" right: [(parenthesized_expression) (lambda_literal)] @arguments)
(binary_expression left: (binary_expression left: [(identifier) (navigation_expression)] @call operator: "<" right: (identifier) @use) operator: ">" right: (call_expression . (navigation_expression . (parenthesized_expression) @arguments)))

; Throws.
(throw_expression (call_expression . [(identifier) (navigation_expression)] @throw))
(throw_expression [(identifier) (navigation_expression) (unary_expression) (as_expression left: (_))] @throw)
((call_expression . (identifier) @throw (value_arguments)) (#any-of? @throw "error" "TODO"))
((annotation (constructor_invocation (user_type) @_throws (value_arguments (value_argument (navigation_expression . (identifier) @throw "::")))))
  (#any-of? @_throws "Throws" "kotlin.jvm.Throws" "jvm.Throws"))

; Coroutines, and values of sequences and flows. `yield()` without a value only suspends.
(function_modifier "suspend" @async)
; Lambdas of coroutines make the function around them asynchronous.
((call_expression . [
  (identifier) @_builder
  (navigation_expression (identifier) @_builder .)
  (call_expression . (identifier) @_builder (value_arguments))
  (call_expression . (navigation_expression (identifier) @_builder .) (value_arguments))
] (annotated_lambda) @async)
  (#any-of? @_builder "suspend" "launch" "async" "runBlocking" "runTest" "withContext" "withTimeout" "withTimeoutOrNull" "coroutineScope" "supervisorScope"))
((call_expression . (navigation_expression . (_) @await (identifier) @_await .) (value_arguments "(" . ")")) (#eq? @_await "await"))
((call_expression . (identifier) @_await (value_arguments (value_argument (_) @await))) (#eq? @_await "awaitAll"))
((call_expression . (identifier) @_yield (value_arguments . (value_argument (_) @yield))) (#any-of? @_yield "yield" "yieldAll" "emit"))
((call_expression . (identifier) @generator (annotated_lambda)) (#any-of? @generator "sequence" "iterator" "flow" "channelFlow" "callbackFlow"))

; Assignments and bindings.
[
  (property_declaration (variable_declaration (identifier) @target) "=" . (_) @value)
  (property_declaration (variable_declaration (identifier) @target) (property_delegate (_) @value))
  (property_declaration (multi_variable_declaration) @target "=" . (_) @value)
  (assignment left: (_) @target right: (_) @value)
  (for_statement (variable_declaration (identifier) @target) "in" . (_) @value)
  (for_statement (multi_variable_declaration) @target "in" . (_) @value)
  (when_subject (variable_declaration (identifier) @target) "=" . (_) @value)
]
[
  (property_declaration (multi_variable_declaration (variable_declaration (identifier) @target)))
  (for_statement (multi_variable_declaration (variable_declaration (identifier) @target)))
  (catch_block (identifier) @target . ":")
  (unary_expression operator: ["++" "--"] . argument: (_) @target)
  (unary_expression argument: (_) @target . operator: ["++" "--"])
]

; Names. A name at the end of a string template is read, too.
((identifier) @identifier (#not-any-of? @identifier "true" "false" "null" "break" "continue" "class"))
((string_literal (string_content) @_dollar . (string_content) @identifier) (#eq? @_dollar "$") (#match? @identifier "^[A-Za-z_][A-Za-z0-9_]*[`:]*[ ]*$"))
[
  (user_type (identifier) @use)
  (type_parameter (identifier) @use)
  (type_constraint (identifier) @use)
  (qualified_identifier (identifier) @use)
  (import (identifier) @use)
  (value_argument (identifier) @use . "=")
  (enum_entry (identifier) @use)
  (property_declaration (variable_declaration (identifier) @use) .)
  (property_declaration (variable_declaration (identifier) @use) . (getter))
  (return_expression label: (identifier) @use)
  (this_expression (identifier) @use)
  (super_expression (identifier) @use)
  (callable_reference "::" . (identifier) @use)
  (assignment left: (navigation_expression (identifier) @use .) operator: "=")
]
((labeled_expression (label) @_jump . (identifier) @use) (#any-of? @_jump "break@" "continue@"))
((navigation_expression . (identifier) @use . "::" . (identifier) @_class) (#eq? @_class "class"))

; Control flow.
[(if_expression) (when_expression) (when_entry) (try_expression) (catch_block) (finally_block)] @branch
(if_expression "else" @branch)
[(for_statement) (while_statement) (do_while_statement)] @loop
((identifier) @break (#eq? @break "break"))
((identifier) @continue (#eq? @continue "continue"))
((labeled_expression . (label) @break) (#eq? @break "break@"))
((labeled_expression . (label) @continue) (#eq? @continue "continue@"))
(return_expression) @return

; Comments and lint rules.
[(line_comment) (block_comment)] @comment
((catch_block (block "{" . "}")) @lint (#set! value "empty-catch"))
((catch_block (block "{" . [(line_comment) (block_comment)]+ . "}")) @lint (#set! value "empty-catch"))
((block [(return_expression) (throw_expression)] . [
  (call_expression) (assignment) (property_declaration) (return_expression) (throw_expression) (if_expression)
  (for_statement) (while_statement) (do_while_statement) (when_expression) (try_expression)
] @lint) (#set! value "unreachable-code"))
((block (identifier) @_jump . [
  (call_expression) (assignment) (property_declaration) (return_expression) (throw_expression) (if_expression)
  (for_statement) (while_statement) (do_while_statement) (when_expression) (try_expression)
] @lint) (#any-of? @_jump "break" "continue") (#set! value "unreachable-code"))
((unary_expression operator: "!!" @lint) (#set! value "not-null-assertion"))
((navigation_expression . (identifier) @lint) (#eq? @lint "GlobalScope") (#set! value "global-scope"))
