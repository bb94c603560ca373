; Facts of Ruby.
;! default-visibility public

; Parameters and types inferred from values
([(method_parameters [
    (identifier) @param
    (splat_parameter name: (identifier) @param)
    (hash_splat_parameter name: (identifier) @param)
    (block_parameter name: (identifier) @param)
    (destructured_parameter (identifier) @param)])
  (block_parameters [
    (identifier) @param
    (splat_parameter name: (identifier) @param)
    (hash_splat_parameter name: (identifier) @param)
    (destructured_parameter (identifier) @param)])
  (lambda_parameters [
    (identifier) @param
    (splat_parameter name: (identifier) @param)])
  (optional_parameter name: (identifier) @param)
  (keyword_parameter name: (identifier) @param)])
([(assignment right: [(string) (heredoc_beginning) (chained_string)] @inferred) (optional_parameter value: [(string) (heredoc_beginning) (chained_string)] @inferred) (keyword_parameter value: [(string) (heredoc_beginning) (chained_string)] @inferred)]
  (#set! value "String"))
([(assignment right: (integer) @inferred) (optional_parameter value: (integer) @inferred) (keyword_parameter value: (integer) @inferred)]
  (#set! value "Integer"))
([(assignment right: (float) @inferred) (optional_parameter value: (float) @inferred) (keyword_parameter value: (float) @inferred)]
  (#set! value "Float"))
([(assignment right: [(true) (false)] @inferred) (optional_parameter value: [(true) (false)] @inferred) (keyword_parameter value: [(true) (false)] @inferred)]
  (#set! value "Boolean"))
([(assignment right: [(array) (string_array) (symbol_array)] @inferred) (optional_parameter value: [(array) (string_array) (symbol_array)] @inferred) (keyword_parameter value: [(array) (string_array) (symbol_array)] @inferred)]
  (#set! value "Array"))
([(assignment right: (hash) @inferred) (optional_parameter value: (hash) @inferred) (keyword_parameter value: (hash) @inferred)]
  (#set! value "Hash"))
([(assignment right: (simple_symbol) @inferred) (optional_parameter value: (simple_symbol) @inferred) (keyword_parameter value: (simple_symbol) @inferred)]
  (#set! value "Symbol"))
([(assignment right: (regex) @inferred) (optional_parameter value: (regex) @inferred) (keyword_parameter value: (regex) @inferred)]
  (#set! value "Regexp"))
([(assignment right: (range) @inferred) (optional_parameter value: (range) @inferred) (keyword_parameter value: (range) @inferred)]
  (#set! value "Range"))
(assignment right: (call receiver: [(constant) (scope_resolution)] @inferred method: (identifier) @_new)
  (#eq? @_new "new"))
(return (argument_list)) @returns
; The last expression is the result, except for those that are evaluated for their effect.
((method name: (_) @_name body: (body_statement [
    (identifier) (constant) (instance_variable) (string) (array) (hash) (binary) (conditional) (element_reference)
    (call receiver: (_))] @returns .))
  (#not-match? @_name "^initialize$|=$"))
(singleton_method body: (body_statement [
    (identifier) (constant) (instance_variable) (string) (array) (hash) (binary) (conditional) (element_reference)
    (call receiver: (_))] @returns .))
[(method "=" body: (_) @returns) (singleton_method "=" body: (_) @returns)]

; Modifiers and visibility: before a method, or on a line of their own above it
((call !receiver method: (identifier) @modifier arguments: (argument_list [(method) (singleton_method)]))
  (#any-of? @modifier "private" "protected" "public" "module_function" "private_class_method" "public_class_method" "memoize"))
(singleton_method object: (self) @modifier)
((call !receiver method: (identifier) @_word arguments: (argument_list [(method name: (_) @visibility) (singleton_method name: (_) @visibility)]))
  (#any-of? @_word "private" "private_class_method") (#set! value "private"))
((call !receiver method: (identifier) @_word arguments: (argument_list [(method name: (_) @visibility) (singleton_method name: (_) @visibility)]))
  (#any-of? @_word "protected" "protected_class_method") (#set! value "protected"))
; A word applies to the methods after it, up to the next one.
((body_statement (identifier) @section) (#any-of? @section "private" "protected" "public"))

; Superclass and mixins
(superclass [(constant) @extends (scope_resolution) @extends (call receiver: (constant) @extends)])
((call !receiver method: (identifier) @_mixin arguments: (argument_list [(constant) (scope_resolution)] @implements))
  (#any-of? @_mixin "include" "prepend" "extend"))

; Imports
((call !receiver method: (identifier) @_require arguments: (argument_list . (string . (string_content) .) @import))
  (#any-of? @_require "require" "require_relative" "load"))
((call !receiver method: (identifier) @_autoload arguments: (argument_list . (simple_symbol) . (string) @import))
  (#eq? @_autoload "autoload"))

; Calls: the grammar has no node for the callee, so the whole call is captured if there is a receiver.
(call !receiver method: (_) @call arguments: (_) @arguments)
(call !receiver !arguments method: (_) @call)
(call receiver: (_) method: (_) arguments: (_) @arguments) @call
(call receiver: (_) method: (_) !arguments) @call
; An identifier alone is a call if a variable would have no effect there, or by its last character.
[(body_statement (identifier) @call . [(call) (assignment) (identifier) (if) (case) (method) (return) (rescue) (ensure)])
 (then (identifier) @call . [(call) (assignment) (identifier) (if) (return)])
 (begin (identifier) @call . [(call) (assignment) (identifier) (rescue) (ensure)])]
([(if condition: (identifier) @call) (unless condition: (identifier) @call) (elsif condition: (identifier) @call)
  (if_modifier condition: (identifier) @call) (unless_modifier condition: (identifier) @call)
  (conditional condition: (identifier) @call) (while condition: (identifier) @call) (until condition: (identifier) @call)
  (unary operand: (identifier) @call) (binary (identifier) @call)]
  (#match? @call "[?!]$"))
[(if_modifier body: (identifier) @call) (unless_modifier body: (identifier) @call)]

; Return values, raises and yields
((call !receiver method: (identifier) @_raise arguments: (argument_list . [
    (constant) @throw
    (scope_resolution) @throw
    (identifier) @throw
    (call receiver: [(constant) (scope_resolution)] @throw method: (identifier))]))
  (#any-of? @_raise "raise" "fail"))
((call !receiver method: (identifier) @_raise arguments: (argument_list . (string) @throw))
  (#any-of? @_raise "raise" "fail") (#set! value "RuntimeError"))
((call !receiver method: (identifier) @_throw arguments: (argument_list . (simple_symbol) @throw))
  (#eq? @_throw "throw"))
(yield (argument_list (_) @yield))
((yield) @yield (#eq? @yield "yield"))

; Assignments
[(assignment left: (_) @target right: (_) @value)
 (operator_assignment left: (_) @target right: (_) @value)
 (for pattern: (_) @target value: (in (_) @value))
 (alias name: (identifier) @target alias: (identifier) @value)]
(exception_variable (_) @target)
[(array_pattern (identifier) @target) (as_pattern name: (identifier) @target)
 (array_pattern (splat_parameter name: (identifier) @target))]

; Identifiers
[(identifier) (constant) (instance_variable) (class_variable) (global_variable)] @identifier
(call method: [(identifier) (constant)] @use)
[(left_assignment_list [(identifier) (instance_variable)] @use)
 (destructured_left_assignment (identifier) @use)
 (rest_assignment (identifier) @use)]
(superclass [(constant) @use (scope_resolution name: (constant) @use)])
[(hash_key_symbol) (simple_symbol)] @use

; Control flow
[(if) (elsif) (else) (unless) (if_modifier) (unless_modifier) (conditional) (case) (when) (case_match) (in_clause)
 (rescue) (ensure) (rescue_modifier)] @branch
(begin [(rescue) (ensure) (else)] .) @branch
[(while) (until) (for) (while_modifier) (until_modifier)] @loop
((call method: (identifier) @_each block: (_)) @loop
  (#any-of? @_each "loop" "each" "each_with_index" "each_pair" "each_key" "each_value" "times" "upto" "downto"))
(break) @break
[(next) (redo)] @continue
(return) @return

; Comments
(comment) @comment

; Lint rules
([(rescue !body) (rescue body: (then . (nil) .))] @lint (#set! value "empty-catch"))
((exceptions (constant) @lint) (#eq? @lint "Exception") (#set! value "rescue-exception"))
((ensure (return) @lint) (#set! value "return-in-ensure"))
((call receiver: (identifier) @_binding method: (identifier) @_debugger) @lint
  (#eq? @_binding "binding") (#any-of? @_debugger "pry" "irb") (#set! value "debugger-statement"))
([(body_statement [(return) (break) (next)] . [(call) (assignment) (identifier) (return) (if) (if_modifier) (unless_modifier)] @lint)
  (then [(return) (break) (next)] . [(call) (assignment) (identifier) (return) (if) (if_modifier) (unless_modifier)] @lint)
  (begin [(return) (break) (next)] . [(call) (assignment) (identifier) (return) (if) (if_modifier) (unless_modifier)] @lint)
  (do [(return) (break) (next)] . [(call) (assignment) (identifier) (return) (if) (if_modifier) (unless_modifier)] @lint)]
  (#set! value "unreachable-code"))
