; Facts of PHP.
;! default-visibility public

; Parameters, types, results
[(simple_parameter name: (variable_name) @param)
 (variadic_parameter name: (variable_name) @param)
 (property_promotion_parameter name: (variable_name) @param)]
[(simple_parameter type: (_) @type)
 (variadic_parameter type: (_) @type)
 (property_promotion_parameter type: (_) @type)
 (property_declaration type: (_) @type)
 (const_declaration type: (_) @type)]
[(function_definition return_type: (_) @return_type) (method_declaration return_type: (_) @return_type)]
(return_statement (_)) @returns
([(assignment_expression right: [(string) (encapsed_string) (heredoc) (nowdoc)] @inferred)
  (simple_parameter default_value: [(string) (encapsed_string) (heredoc) (nowdoc)] @inferred)
  (property_promotion_parameter default_value: [(string) (encapsed_string) (heredoc) (nowdoc)] @inferred)
  (property_element default_value: [(string) (encapsed_string) (heredoc) (nowdoc)] @inferred)
  (static_variable_declaration value: [(string) (encapsed_string) (heredoc) (nowdoc)] @inferred)] (#set! value "string"))
([(assignment_expression right: (integer) @inferred)
  (simple_parameter default_value: (integer) @inferred)
  (property_promotion_parameter default_value: (integer) @inferred)
  (property_element default_value: (integer) @inferred)
  (static_variable_declaration value: (integer) @inferred)] (#set! value "int"))
([(assignment_expression right: (float) @inferred)
  (simple_parameter default_value: (float) @inferred)
  (property_promotion_parameter default_value: (float) @inferred)
  (property_element default_value: (float) @inferred)
  (static_variable_declaration value: (float) @inferred)] (#set! value "float"))
([(assignment_expression right: (boolean) @inferred)
  (simple_parameter default_value: (boolean) @inferred)
  (property_promotion_parameter default_value: (boolean) @inferred)
  (property_element default_value: (boolean) @inferred)
  (static_variable_declaration value: (boolean) @inferred)] (#set! value "bool"))
([(assignment_expression right: (array_creation_expression) @inferred)
  (simple_parameter default_value: (array_creation_expression) @inferred)
  (property_promotion_parameter default_value: (array_creation_expression) @inferred)
  (property_element default_value: (array_creation_expression) @inferred)
  (static_variable_declaration value: (array_creation_expression) @inferred)] (#set! value "array"))
[(assignment_expression right: (object_creation_expression . [(name) (qualified_name)] @inferred))
 (augmented_assignment_expression right: (object_creation_expression . [(name) (qualified_name)] @inferred))
 (simple_parameter default_value: (object_creation_expression . [(name) (qualified_name)] @inferred))]

; Attributes, modifiers, visibility
(attribute) @decorator
[(visibility_modifier) (static_modifier) (abstract_modifier) (final_modifier) (readonly_modifier) (var_modifier)] @modifier
(visibility_modifier) @visibility

; Parents, interfaces, traits
(base_clause [(name) (qualified_name)] @extends)
(class_interface_clause [(name) (qualified_name)] @implements)
(use_declaration [(name) (qualified_name)] @implements)

; Imports: for a group, only its prefix
(namespace_use_declaration (namespace_use_clause . [(name) (qualified_name)] @import))
(namespace_use_declaration (namespace_name) @import body: (namespace_use_group))
[(include_expression [(string) @import (binary_expression right: (string) @import)])
 (include_once_expression [(string) @import (binary_expression right: (string) @import)])
 (require_expression [(string) @import (binary_expression right: (string) @import)])
 (require_once_expression [(string) @import (binary_expression right: (string) @import)])]

; Calls: the grammar has no node for the callee of a method, so the whole call is captured.
(function_call_expression function: (_) @call arguments: (_) @arguments)
(object_creation_expression . [(name) (qualified_name) (variable_name)] @call (arguments)? @arguments)
[(member_call_expression name: [(name) (variable_name)] arguments: (_) @arguments)
 (nullsafe_member_call_expression name: [(name) (variable_name)] arguments: (_) @arguments)
 (scoped_call_expression name: [(name) (variable_name)] arguments: (_) @arguments)] @call
; Language constructs that take arguments like functions.
[(echo_statement "echo" @call)
 (print_intrinsic "print" @call)
 (exit_statement "exit" @call)
 (include_expression "include" @call)
 (include_once_expression "include_once" @call)
 (require_expression "require" @call)
 (require_once_expression "require_once" @call)] @arguments
((shell_command_expression) @call (#set! value "shell_exec"))

; Return values, throws and yields
(throw_expression [
  (object_creation_expression . [(name) (qualified_name) (variable_name)] @throw)
  (variable_name) @throw
  (scoped_call_expression scope: (_) @throw)
  (member_call_expression name: (name) @throw)
  (function_call_expression function: (_) @throw)])
(yield_expression (array_element_initializer (_) @yield .))
(yield_expression [
  (variable_name) @yield
  (member_call_expression name: (name) @yield)
  (scoped_call_expression name: (name) @yield)
  (function_call_expression function: (_) @yield)])
((yield_expression) @yield (#eq? @yield "yield"))
(yield_expression) @generator

; Assignments
((assignment_expression left: (list_literal) @target right: (_) @value) (#not-match? @target "^list"))
[(assignment_expression left: [
    (variable_name) (member_access_expression) (scoped_property_access_expression) (subscript_expression)] @target
  right: (_) @value)
 (reference_assignment_expression left: (_) @target right: (_) @value)
 (augmented_assignment_expression left: (_) @target right: (_) @value)
 (static_variable_declaration name: (_) @target value: (_) @value)
 (property_element name: (_) @target default_value: (_) @value)
 (const_element . (name) @target . (_) @value)
 (foreach_statement . (_) @value . [(variable_name) (by_ref) (list_literal) (member_access_expression) (subscript_expression)] @target)
 (foreach_statement . (_) @value . (pair [(variable_name) (by_ref) (list_literal) (member_access_expression) (subscript_expression)] @target))]
; The elements of a list may have keys.
(list_literal (variable_name) @target)
(update_expression argument: (_) @target)
(catch_clause name: (_) @target)
(unset_statement [(member_access_expression) (subscript_expression)] @target)

; Identifiers
((variable_name) @identifier (#not-eq? @identifier "$this"))
[(member_access_expression name: (name) @identifier)
 (nullsafe_member_access_expression name: (name) @identifier)
 (class_constant_access_expression (_) . (name) @identifier)
 (argument (name) @identifier .)
 (return_statement (name) @identifier)
 (array_element_initializer (name) @identifier)
 (assignment_expression right: (name) @identifier)]
[(assignment_expression left: [(member_access_expression name: (name) @use) (scoped_property_access_expression name: (variable_name) @use)])
 (augmented_assignment_expression left: [(member_access_expression name: (name) @use) (scoped_property_access_expression name: (variable_name) @use)])
 (by_ref (variable_name) @use)
 (named_type (name) @use)
 (qualified_name (name) @use)
 (base_clause (name) @use)
 (class_interface_clause (name) @use)
 (use_declaration (name) @use)
 (namespace_use_clause (name) @use)
 (attribute (name) @use)
 (argument name: (name) @use)
 (object_creation_expression (name) @use)
 (scoped_call_expression scope: (name) @use)
 (class_constant_access_expression . (name) @use)
 (scoped_property_access_expression scope: (name) @use)
 (goto_statement (name) @use)
 (named_label_statement (name) @use)]

; Control flow
[(if_statement) (else_if_clause) (else_clause) (switch_statement) (case_statement) (default_statement)
 (match_expression) (match_conditional_expression) (match_default_expression)
 (try_statement) (catch_clause) (finally_clause) (conditional_expression)] @branch
[(for_statement) (foreach_statement) (while_statement) (do_statement)] @loop
(break_statement) @break
(continue_statement) @continue
(return_statement) @return

; Comments
(comment) @comment

; Lint rules
((catch_clause body: (compound_statement "{" . (comment)* . "}")) @lint (#set! value "empty-catch"))
((goto_statement) @lint (#set! value "goto"))
((error_suppression_expression) @lint (#set! value "error-suppression"))
((binary_expression operator: ["==" "!=" "<>"]) @lint
  (#not-match? @lint "^(?i:null)|(?i:null)$") (#set! value "loose-equality"))
; A `break` after a `return` in a case is idiomatic.
([(compound_statement [(return_statement) (break_statement) (continue_statement) (exit_statement) (expression_statement (throw_expression))] . [
  (expression_statement) (echo_statement) (return_statement) (if_statement) (for_statement) (foreach_statement) (while_statement)
  (do_statement) (switch_statement) (try_statement) (unset_statement)] @lint)
  (case_statement [(return_statement) (break_statement) (continue_statement) (exit_statement) (expression_statement (throw_expression))] . [
  (expression_statement) (echo_statement) (return_statement) (if_statement) (for_statement) (foreach_statement) (while_statement)
  (do_statement) (switch_statement) (try_statement) (unset_statement)] @lint)
  (default_statement [(return_statement) (break_statement) (continue_statement) (exit_statement) (expression_statement (throw_expression))] . [
  (expression_statement) (echo_statement) (return_statement) (if_statement) (for_statement) (foreach_statement) (while_statement)
  (do_statement) (switch_statement) (try_statement) (unset_statement)] @lint)]
  (#set! value "unreachable-code"))
