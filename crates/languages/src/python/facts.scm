; Facts of Python.
;! default-visibility public

; Parameters, types, results
(parameters [
  (identifier) @param
  (list_splat_pattern (identifier) @param)
  (dictionary_splat_pattern (identifier) @param)])
(lambda_parameters [
  (identifier) @param
  (list_splat_pattern (identifier) @param)
  (dictionary_splat_pattern (identifier) @param)])
[(default_parameter name: (identifier) @param)
 (typed_default_parameter name: (identifier) @param)]
(typed_parameter . [
  (identifier) @param
  (list_splat_pattern (identifier) @param)
  (dictionary_splat_pattern (identifier) @param)])
[(typed_parameter type: (type) @type)
 (typed_default_parameter type: (type) @type)
 (assignment type: (type) @type)]
(function_definition return_type: (type) @return_type)
((return_statement (_) @_value) @returns (#not-eq? @_value "None"))

([(assignment right: (string . (string_start) @_open) @inferred)
  (default_parameter value: (string . (string_start) @_open) @inferred)]
  (#not-match? @_open "[bB]") (#set! value "str"))
([(assignment right: (string . (string_start) @_open) @inferred)
  (default_parameter value: (string . (string_start) @_open) @inferred)]
  (#match? @_open "[bB]") (#set! value "bytes"))
((assignment right: (concatenated_string) @inferred) (#set! value "str"))
([(assignment right: (integer) @inferred) (default_parameter value: (integer) @inferred)] (#set! value "int"))
([(assignment right: (float) @inferred) (default_parameter value: (float) @inferred)] (#set! value "float"))
([(assignment right: [(true) (false)] @inferred) (default_parameter value: [(true) (false)] @inferred)] (#set! value "bool"))
([(assignment right: [(list) (list_comprehension)] @inferred)
  (default_parameter value: (list) @inferred)] (#set! value "list"))
([(assignment right: [(dictionary) (dictionary_comprehension)] @inferred)
  (default_parameter value: (dictionary) @inferred)] (#set! value "dict"))
((assignment right: [(set) (set_comprehension)] @inferred) (#set! value "set"))
([(assignment right: [(tuple) (expression_list)] @inferred)
  (default_parameter value: (tuple) @inferred)] (#set! value "tuple"))
; A constructor: a class, recognised by its capital letter, or a built-in type.
([(assignment right: (call function: [(identifier) @inferred (attribute attribute: (identifier) @inferred)]))
  (default_parameter value: (call function: [(identifier) @inferred (attribute attribute: (identifier) @inferred)]))]
  (#match? @inferred "^_?[A-Z]"))
((assignment right: (call function: (identifier) @inferred))
  (#any-of? @inferred "int" "str" "float" "bool" "bytes" "bytearray" "list" "dict" "set" "frozenset" "tuple"))

; Decorators, modifiers, visibility
(decorator) @decorator
(decorator [(identifier) @modifier (attribute attribute: (identifier) @modifier)]
  (#any-of? @modifier "staticmethod" "classmethod" "abstractmethod" "property" "cached_property" "final" "override"))
(function_definition "async" @modifier)
([
  (function_definition name: (identifier) @visibility)
  (class_definition name: (identifier) @visibility)
  (module (expression_statement (assignment left: (identifier) @visibility)))
  (class_definition body: (block (expression_statement (assignment left: (identifier) @visibility))))
] (#match? @visibility "^__.*[^_]_?$") (#set! value "private"))
([
  (function_definition name: (identifier) @visibility)
  (class_definition name: (identifier) @visibility)
  (module (expression_statement (assignment left: (identifier) @visibility)))
  (class_definition body: (block (expression_statement (assignment left: (identifier) @visibility))))
] (#match? @visibility "^_([^_]|$)") (#set! value "protected"))

; Bases
(class_definition superclasses: (argument_list [
  (identifier) @extends
  (attribute) @extends
  (subscript value: [(identifier) (attribute)] @extends)]))

; Imports and exports
(import_statement name: [(dotted_name) @import (aliased_import name: (dotted_name) @import)])
(import_from_statement module_name: [(dotted_name) (relative_import)] @import)
(future_import_statement "__future__" @import)
((call
  function: [(identifier) @_import (attribute attribute: (identifier) @_import)]
  arguments: (argument_list . (string) @import))
  (#any-of? @_import "import_module" "__import__"))
([(assignment left: (identifier) @_all right: [(list (string (string_content) @export)) (tuple (string (string_content) @export))])
  (augmented_assignment left: (identifier) @_all right: [(list (string (string_content) @export)) (tuple (string (string_content) @export))])]
  (#eq? @_all "__all__"))

; Calls, return values, raises and yields
(call function: (_) @call arguments: (_) @arguments)
(raise_statement . [(identifier) (attribute)] @throw)
(raise_statement . (call function: (_) @throw))
(function_definition "async" @async)
(await . [(identifier) (attribute) (subscript)] @await)
(await . (call function: (_) @await))
(yield (_) @yield)
((yield) @yield (#eq? @yield "yield"))
(yield) @generator

; Assignments
[(assignment left: (_) @target right: (_) @value)
 (augmented_assignment left: (_) @target right: (_) @value)
 (for_statement left: (_) @target right: (_) @value)
 (for_in_clause left: (_) @target right: (_) @value)
 (named_expression name: (_) @target value: (_) @value)]
(with_item value: (as_pattern . (_) @value alias: (as_pattern_target) @target))
(except_clause (as_pattern alias: (as_pattern_target) @target))
(case_pattern (dotted_name . (identifier) @target .))
(case_pattern (as_pattern (identifier) @target))
(keyword_pattern (dotted_name . (identifier) @target .))
(delete_statement [(attribute) (subscript)] @target)
(delete_statement (expression_list [(attribute) (subscript)] @target))

; Identifiers
(identifier) @identifier
[(pattern_list (identifier) @use)
 (tuple_pattern (identifier) @use)
 (list_pattern (identifier) @use)
 (list_splat_pattern (identifier) @use)
 (assignment left: (attribute attribute: (identifier) @use))
 (augmented_assignment left: (attribute attribute: (identifier) @use))]
(assignment left: (identifier) @use type: (_) !right)
(dotted_name (identifier) @use)
(aliased_import alias: (identifier) @use)
(keyword_argument name: (identifier) @use)
(keyword_pattern . (identifier) @use)
[(global_statement (identifier) @use) (nonlocal_statement (identifier) @use)]
(class_definition superclasses: (argument_list [
  (identifier) @use
  (attribute attribute: (identifier) @use)
  (subscript value: (identifier) @use)]))
(decorator [(identifier) @use (attribute attribute: (identifier) @use)])
(type [
  (identifier) @use
  (attribute attribute: (identifier) @use)
  (generic_type . (identifier) @use)
  (subscript value: (identifier) @use)
  (binary_operator (identifier) @use)
  (binary_operator (binary_operator (identifier) @use))])

; Control flow
[(if_statement) (elif_clause) (else_clause) (match_statement) (case_clause)
 (try_statement) (except_clause) (finally_clause) (conditional_expression)] @branch
[(for_statement) (while_statement)] @loop
(break_statement) @break
(continue_statement) @continue
(return_statement) @return

; Comments and documentation
(comment) @comment
(module . (comment)* . (expression_statement . (string) @doc))
[(function_definition body: (block . (expression_statement . (string) @doc)))
 (class_definition body: (block . (expression_statement . (string) @doc)))]

; Lint rules
((except_clause "except" . ":") @lint (#set! value "bare-except"))
((except_clause (block . (comment)* . [(pass_statement) (expression_statement (ellipsis))] . (comment)* .)) @lint
  (#set! value "empty-catch"))
; A lone `yield` after a `return` is the idiom for an empty generator.
((block [(return_statement) (raise_statement) (break_statement) (continue_statement)] . [
  (expression_statement) (return_statement) (raise_statement) (if_statement) (for_statement) (while_statement) (try_statement)
  (with_statement) (assert_statement) (delete_statement) (pass_statement) (break_statement) (continue_statement)
  (import_statement) (import_from_statement) (function_definition) (class_definition) (match_statement)] @lint)
  (#not-match? @lint "^yield") (#set! value "unreachable-code"))
([(default_parameter value: [(list) (dictionary) (set) (list_comprehension) (dictionary_comprehension)])
  (typed_default_parameter value: [(list) (dictionary) (set) (list_comprehension) (dictionary_comprehension)])] @lint
  (#set! value "mutable-default"))
((assert_statement . (tuple (_))) @lint (#set! value "assert-on-tuple"))
((comparison_operator operators: ["is" "is not"] . [(string) (integer) (list) (dictionary) (tuple)]) @lint (#set! value "is-literal"))
((wildcard_import) @lint (#set! value "wildcard-import"))
