; What PHP code does.
; Members and functions are public where nothing is written.
;! default-visibility public

; Parameters and types
[
  (simple_parameter name: (variable_name) @param)
  (variadic_parameter name: (variable_name) @param)
  (property_promotion_parameter name: (variable_name) @param)
  (property_promotion_parameter name: (by_ref (variable_name) @param))
]
[
  (simple_parameter type: (_) @type)
  (variadic_parameter type: (_) @type)
  (property_promotion_parameter type: (_) @type)
  (property_declaration type: (_) @type)
  (const_declaration type: (_) @type)
  (enum_declaration (primitive_type) @type)
  (catch_clause type: (type_list (named_type) @type))
]
[
  (function_definition return_type: (_) @return_type)
  (method_declaration return_type: (_) @return_type)
  (anonymous_function return_type: (_) @return_type)
  (arrow_function return_type: (_) @return_type)
]

; What values tell of their type
([
  (assignment_expression right: [(string) (encapsed_string) (heredoc) (nowdoc)] @inferred)
  (property_element default_value: [(string) (encapsed_string) (heredoc) (nowdoc)] @inferred)
  (simple_parameter default_value: [(string) (encapsed_string)] @inferred)
  (property_promotion_parameter default_value: [(string) (encapsed_string)] @inferred)
  (static_variable_declaration value: [(string) (encapsed_string)] @inferred)
  (const_element [(string) (encapsed_string) (heredoc) (nowdoc)] @inferred)
] (#set! value "string"))
([
  (assignment_expression right: (integer) @inferred)
  (property_element default_value: (integer) @inferred)
  (simple_parameter default_value: (integer) @inferred)
  (property_promotion_parameter default_value: (integer) @inferred)
  (static_variable_declaration value: (integer) @inferred)
  (const_element (integer) @inferred)
] (#set! value "int"))
([
  (assignment_expression right: (float) @inferred)
  (property_element default_value: (float) @inferred)
  (simple_parameter default_value: (float) @inferred)
  (property_promotion_parameter default_value: (float) @inferred)
  (static_variable_declaration value: (float) @inferred)
  (const_element (float) @inferred)
] (#set! value "float"))
([
  (assignment_expression right: (boolean) @inferred)
  (property_element default_value: (boolean) @inferred)
  (simple_parameter default_value: (boolean) @inferred)
  (property_promotion_parameter default_value: (boolean) @inferred)
  (static_variable_declaration value: (boolean) @inferred)
  (const_element (boolean) @inferred)
] (#set! value "bool"))
([
  (assignment_expression right: (array_creation_expression) @inferred)
  (property_element default_value: (array_creation_expression) @inferred)
  (simple_parameter default_value: (array_creation_expression) @inferred)
  (property_promotion_parameter default_value: (array_creation_expression) @inferred)
  (static_variable_declaration value: (array_creation_expression) @inferred)
  (const_element (array_creation_expression) @inferred)
] (#set! value "array"))
[
  (assignment_expression right: (object_creation_expression [(name) (qualified_name)] @inferred))
  (augmented_assignment_expression operator: "??=" right: (object_creation_expression [(name) (qualified_name)] @inferred))
  (simple_parameter default_value: (object_creation_expression [(name) (qualified_name)] @inferred))
  (property_promotion_parameter default_value: (object_creation_expression [(name) (qualified_name)] @inferred))
  (assignment_expression right: (cast_expression type: (_) @inferred))
]

; What is given back
(return_statement (_)) @returns
(arrow_function body: (_) @returns)

; Attributes, modifiers, visibility. The visibility of a promoted parameter is not its constructor's.
(attribute) @decorator
[
  (abstract_modifier) (final_modifier) (readonly_modifier) (static_modifier) (var_modifier) (visibility_modifier)
] @modifier
[
  (class_declaration (visibility_modifier) @visibility)
  (method_declaration (visibility_modifier) @visibility)
  (property_declaration (visibility_modifier) @visibility)
  (const_declaration (visibility_modifier) @visibility)
]
((property_declaration (var_modifier) @visibility) (#set! value "public"))

; Bases; traits are mixed in
(base_clause [(name) (qualified_name) (relative_name)] @extends)
(class_interface_clause [(name) (qualified_name) (relative_name)] @implements)
(use_declaration [(name) (qualified_name) (relative_name)] @implements)

; Imports. Files are known where the end of their path is written out.
(namespace_use_clause . [(name) (qualified_name)] @import)
(namespace_use_declaration (namespace_name) @import)
[
  (include_expression [(string) (encapsed_string)] @import)
  (include_once_expression [(string) (encapsed_string)] @import)
  (require_expression [(string) (encapsed_string)] @import)
  (require_once_expression [(string) (encapsed_string)] @import)
  (include_expression (binary_expression operator: "." right: (string) @import))
  (include_once_expression (binary_expression operator: "." right: (string) @import))
  (require_expression (binary_expression operator: "." right: (string) @import))
  (require_once_expression (binary_expression operator: "." right: (string) @import))
  (include_expression (parenthesized_expression (string) @import))
  (include_once_expression (parenthesized_expression (string) @import))
  (require_expression (parenthesized_expression (string) @import))
  (require_once_expression (parenthesized_expression (string) @import))
]

; Generators
(yield_expression) @generator
(yield_expression (array_element_initializer . (_) @yield .))
(yield_expression (array_element_initializer "=>" . (_) @yield))
(yield_expression "yield from" . (_) @yield)

; Calls. `isset` and `empty` only look like one; of a method's, the whole call stands for what is called.
(function_call_expression function: [(name) (qualified_name) (relative_name) (variable_name)] @call
  arguments: (_) @arguments
  (#not-any-of? @call "isset" "empty"))
(member_call_expression arguments: (_) @arguments) @call
(nullsafe_member_call_expression arguments: (_) @arguments) @call
(scoped_call_expression arguments: (_) @arguments) @call
(object_creation_expression [(name) (qualified_name) (relative_name) (variable_name)] @call (arguments)? @arguments)

; What is thrown
(throw_expression (object_creation_expression [(name) (qualified_name) (relative_name)] @throw))
(throw_expression [
  (variable_name) (member_access_expression)
  (function_call_expression) (member_call_expression) (scoped_call_expression)
] @throw)

; Assignments
[
  (assignment_expression
    left: [(variable_name) (member_access_expression) (subscript_expression) (scoped_property_access_expression)] @target
    right: (_) @value)
  (augmented_assignment_expression
    left: [(variable_name) (member_access_expression) (subscript_expression) (scoped_property_access_expression)] @target
    right: (_) @value)
  (reference_assignment_expression
    left: [(variable_name) (member_access_expression) (subscript_expression) (scoped_property_access_expression)] @target
    right: (_) @value)
  (assignment_expression left: (list_literal . "[") @target right: (_) @value)
  (static_variable_declaration name: (variable_name) @target value: (_) @value)
  (property_element name: (variable_name) @target default_value: (_) @value)
  (const_element . (name) @target "=" . (_) @value)
]
[
  (list_literal [(variable_name) (member_access_expression) (subscript_expression)] @target)
  (list_literal (by_ref (variable_name) @target))
  (update_expression
    argument: [(variable_name) (member_access_expression) (subscript_expression) (scoped_property_access_expression)] @target)
  (unset_statement [(member_access_expression) (subscript_expression)] @target)
  (catch_clause name: (variable_name) @target)
]
[
  (foreach_statement . (_) @value "as" . [(variable_name) (member_access_expression)] @target)
  (foreach_statement . (_) @value "as" . (by_ref (variable_name) @target))
  (foreach_statement . (_) @value "as" . (pair [(variable_name) @target (by_ref (variable_name) @target)]))
  (foreach_statement . (_) @value "as" . (list_literal . "[") @target)
  (foreach_statement . (_) @value "as" . (pair (list_literal . "[") @target))
]

; Identifiers. What stands before `::` is a type.
(variable_name) @identifier
(class_constant_access_expression (_) (name) @identifier (#not-eq? @identifier "class"))
[
  (member_access_expression name: (name) @identifier)
  (nullsafe_member_access_expression name: (name) @identifier)
  (binary_expression left: (name) @identifier)
  (binary_expression right: (name) @identifier)
  (argument (name) @identifier)
  (assignment_expression right: (name) @identifier)
  (return_statement (name) @identifier)
  (array_element_initializer (name) @identifier)
]
[
  (assignment_expression left: (member_access_expression name: (name) @use))
  (reference_assignment_expression left: (member_access_expression name: (name) @use))
  (property_element name: (variable_name) @use)
  (global_declaration (variable_name) @use)
  (named_type (_) @use)
  (base_clause (_) @use)
  (class_interface_clause (_) @use)
  (use_declaration [(name) (qualified_name)] @use)
  (attribute . (_) @use)
  (scoped_call_expression scope: [(name) (qualified_name)] @use)
  (scoped_property_access_expression scope: [(name) (qualified_name)] @use)
  (class_constant_access_expression . [(name) (qualified_name)] @use)
  (binary_expression operator: "instanceof" right: [(name) (qualified_name)] @use)
  (argument name: (name) @use)
  (goto_statement (name) @use)
]

; Control flow
[
  (if_statement) (else_clause) (else_if_clause) (switch_statement) (case_statement) (default_statement)
  (match_expression) (match_conditional_expression) (match_default_expression)
  (try_statement) (catch_clause) (finally_clause) (conditional_expression)
] @branch
[(for_statement) (foreach_statement) (while_statement) (do_statement)] @loop
(break_statement) @break
(continue_statement) @continue
(return_statement) @return

(comment) @comment

; Rules. A `break` after a `return` in a `case` is a habit and harms nothing.
((catch_clause body: (compound_statement . "{" . (comment)* . "}")) @lint (#set! value "empty-catch"))
; What is declared is so before the code runs, and a label can be reached.
((compound_statement
  [(return_statement) (break_statement) (continue_statement) (goto_statement) (exit_statement) (expression_statement (throw_expression))] .
  (_) @lint)
  (#not-match? @lint "^(//|#|/[*]|[?]>|(abstract |final |readonly )*(function|class|interface|trait|enum) |[A-Za-z_]\\w*:[^:])")
  (#set! value "unreachable-code"))
((error_suppression_expression) @lint (#set! value "error-suppression"))
((goto_statement) @lint (#set! value "goto"))
((dynamic_variable_name) @lint (#set! value "variable-variable"))
((function_call_expression function: (name) @lint) (#eq? @lint "eval") (#set! value "eval"))
