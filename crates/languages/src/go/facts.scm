; Facts of Go.

; Parameters and types. Results have the same syntax as parameters; the field distinguishes the lists.
(method_declaration receiver: (parameter_list (parameter_declaration name: (identifier) @param)))
[
  (function_declaration parameters: (parameter_list [(parameter_declaration name: (identifier) @param) (variadic_parameter_declaration name: (identifier) @param)]))
  (method_declaration parameters: (parameter_list [(parameter_declaration name: (identifier) @param) (variadic_parameter_declaration name: (identifier) @param)]))
  (func_literal parameters: (parameter_list [(parameter_declaration name: (identifier) @param) (variadic_parameter_declaration name: (identifier) @param)]))
  (function_type parameters: (parameter_list [(parameter_declaration name: (identifier) @param) (variadic_parameter_declaration name: (identifier) @param)]))
  (method_elem parameters: (parameter_list [(parameter_declaration name: (identifier) @param) (variadic_parameter_declaration name: (identifier) @param)]))
]
(method_declaration receiver: (parameter_list (parameter_declaration type: (_) @type)))
[
  (function_declaration parameters: (parameter_list [(parameter_declaration type: (_) @type) (variadic_parameter_declaration type: (_) @type)]))
  (method_declaration parameters: (parameter_list [(parameter_declaration type: (_) @type) (variadic_parameter_declaration type: (_) @type)]))
  (func_literal parameters: (parameter_list [(parameter_declaration type: (_) @type) (variadic_parameter_declaration type: (_) @type)]))
  (function_type parameters: (parameter_list [(parameter_declaration type: (_) @type) (variadic_parameter_declaration type: (_) @type)]))
  (method_elem parameters: (parameter_list [(parameter_declaration type: (_) @type) (variadic_parameter_declaration type: (_) @type)]))
]
[(field_declaration name: (_) type: (_) @type) (var_spec type: (_) @type) (const_spec type: (_) @type)]
([
  (function_declaration result: (_) @return_type)
  (method_declaration result: (_) @return_type)
  (func_literal result: (_) @return_type)
  (function_type result: (_) @return_type)
  (method_elem result: (_) @return_type)
] (#not-match? @return_type "^\\("))
[
  (function_declaration result: (parameter_list (parameter_declaration type: (_) @return_type)))
  (method_declaration result: (parameter_list (parameter_declaration type: (_) @return_type)))
  (func_literal result: (parameter_list (parameter_declaration type: (_) @return_type)))
  (function_type result: (parameter_list (parameter_declaration type: (_) @return_type)))
  (method_elem result: (parameter_list (parameter_declaration type: (_) @return_type)))
]

; Types inferred from values
([
  (short_var_declaration right: (expression_list (int_literal) @inferred))
  (var_spec value: (expression_list (int_literal) @inferred))
  (const_spec value: (expression_list (int_literal) @inferred))
] (#set! value "int"))
([
  (short_var_declaration right: (expression_list (float_literal) @inferred))
  (var_spec value: (expression_list (float_literal) @inferred))
  (const_spec value: (expression_list (float_literal) @inferred))
] (#set! value "float64"))
([
  (short_var_declaration right: (expression_list (rune_literal) @inferred))
  (var_spec value: (expression_list (rune_literal) @inferred))
  (const_spec value: (expression_list (rune_literal) @inferred))
] (#set! value "rune"))
([
  (short_var_declaration right: (expression_list [(interpreted_string_literal) (raw_string_literal)] @inferred))
  (var_spec value: (expression_list [(interpreted_string_literal) (raw_string_literal)] @inferred))
  (const_spec value: (expression_list [(interpreted_string_literal) (raw_string_literal)] @inferred))
] (#set! value "string"))
([
  (short_var_declaration right: (expression_list [(true) (false)] @inferred))
  (var_spec value: (expression_list [(true) (false)] @inferred))
  (const_spec value: (expression_list [(true) (false)] @inferred))
] (#set! value "bool"))
[
  (short_var_declaration right: (expression_list [
    (composite_literal type: (_) @inferred)
    (unary_expression operator: "&" operand: (composite_literal type: (_) @inferred))
    (type_assertion_expression type: (_) @inferred)]))
  (var_spec value: (expression_list [
    (composite_literal type: (_) @inferred)
    (unary_expression operator: "&" operand: (composite_literal type: (_) @inferred))
    (type_assertion_expression type: (_) @inferred)]))
  (assignment_statement right: (expression_list [
    (composite_literal type: (_) @inferred)
    (unary_expression operator: "&" operand: (composite_literal type: (_) @inferred))]))
]
((call_expression function: (identifier) @_maker arguments: (argument_list . (_) @inferred)) (#any-of? @_maker "make" "new"))

; Modifiers and visibility: a capital letter makes a name public
([
  (function_declaration name: (_) @visibility)
  (method_declaration name: (_) @visibility)
  (type_spec name: (_) @visibility)
  (type_alias name: (_) @visibility)
  (source_file (const_declaration (const_spec name: (_) @visibility)))
  (source_file (var_declaration [(var_spec name: (_) @visibility) (var_spec_list (var_spec name: (_) @visibility))]))
] (#match? @visibility "^\\p{Lu}") (#set! value "public"))
([
  (function_declaration name: (_) @visibility)
  (method_declaration name: (_) @visibility)
  (type_spec name: (_) @visibility)
  (type_alias name: (_) @visibility)
  (source_file (const_declaration (const_spec name: (identifier) @visibility)))
  (source_file (var_declaration [(var_spec name: (identifier) @visibility) (var_spec_list (var_spec name: (identifier) @visibility))]))
] (#match? @visibility "^(\\p{Ll}|_.)") (#set! value "private"))

; Embedded types
(field_declaration !name type: [(type_identifier) @extends (qualified_type) @extends (generic_type type: (_) @extends)])
(interface_type (type_elem . [(type_identifier) @extends (qualified_type) @extends (generic_type type: (_) @extends)] .))
; `var _ Reader = (*File)(nil)` is the idiom to assert that a type implements an interface.
((var_spec name: (identifier) @_blank type: (_) @implements) (#eq? @_blank "_"))

(import_spec path: (_) @import)

; Calls, panics, returned errors
(call_expression function: (_) @call arguments: (_) @arguments)
; With one argument, a call of a generic function has the syntax of a conversion.
(type_conversion_expression type: (generic_type type: (_) @call))
((call_expression function: (identifier) @throw) (#eq? @throw "panic"))
((return_statement (expression_list [(identifier) (selector_expression)] @throw)) (#match? @throw "^(\\w+\\.)?[Ee]rr\\p{Lu}"))
((return_statement (expression_list (call_expression function: (selector_expression) @throw))) (#any-of? @throw "errors.New" "fmt.Errorf"))
((return_statement (expression_list [
  (composite_literal type: (_) @throw)
  (unary_expression operand: (composite_literal type: (_) @throw))])) (#match? @throw "Err(or)?$"))

; Assignments. The names of a list are claimed individually; the target is the whole list.
(short_var_declaration left: (_) @target right: (_) @value)
(assignment_statement left: (_) @target right: (_) @value)
(range_clause left: (_) @target right: (_) @value)
(receive_statement left: (_) @target right: (_) @value)
(type_switch_statement alias: (_) @target value: (_) @value)
([
  (short_var_declaration left: (expression_list (identifier) @use))
  (assignment_statement left: (expression_list (identifier) @use) operator: "=")
  (range_clause left: (expression_list (identifier) @use))
  (receive_statement left: (expression_list (identifier) @use))
] (#not-eq? @use "_"))
(var_spec name: (identifier) @target value: (_) @value)
(const_spec (identifier) @target value: (_) @value)
[(inc_statement (_) @target) (dec_statement (_) @target)]

; Names
((identifier) @identifier (#not-eq? @identifier "_"))
(field_identifier) @identifier
[(type_identifier) (label_name)] @use
(qualified_type package: (_) @use)
(var_spec name: (identifier) @use !value)
(const_spec name: (identifier) @use !value)
[(field_declaration name: (_) @use) (method_elem name: (_) @use) (type_parameter_declaration name: (_) @use)]
[
  (function_declaration result: (parameter_list (parameter_declaration name: (_) @use)))
  (method_declaration result: (parameter_list (parameter_declaration name: (_) @use)))
  (func_literal result: (parameter_list (parameter_declaration name: (_) @use)))
  (function_type result: (parameter_list (parameter_declaration name: (_) @use)))
  (method_elem result: (parameter_list (parameter_declaration name: (_) @use)))
]
; Keys of a struct literal are fields; those of a map literal are values.
(composite_literal type: [(type_identifier) (qualified_type) (generic_type)] body: (literal_value (keyed_element key: (literal_element (identifier) @use))))
(literal_element (literal_value (keyed_element key: (literal_element (identifier) @use))))

; Control flow
[(if_statement) (expression_switch_statement) (type_switch_statement) (select_statement)] @branch
(if_statement "else" @branch)
[(expression_case) (type_case) (communication_case) (default_case)] @branch
(for_statement) @loop
(break_statement) @break
(continue_statement) @continue
(return_statement) @return
(return_statement (expression_list)) @returns

(comment) @comment

; Lint rules
; A label may be the target of a jump.
((statement_list [(return_statement) (break_statement) (continue_statement) (goto_statement)] . (_statement) @lint)
 (#not-match? @lint "^\\w+:\\s") (#set! value "unreachable-code"))
((goto_statement) @lint (#set! value "goto"))
((for_statement body: (block (statement_list (defer_statement) @lint))) (#set! value "defer-in-loop"))
((if_statement consequence: (block "{" . "}") @lint) (#set! value "empty-block"))
((assignment_statement
  left: (expression_list . (_) @_left .) operator: "=" right: (expression_list . (_) @_right .)) @lint
 (#eq? @_left @_right) (#set! value "self-assignment"))
