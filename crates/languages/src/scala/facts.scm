; Facts of Scala.
;! default-visibility public

; Parameters and types.
(parameter name: (identifier) @param)
(class_parameter name: (identifier) @param)
(binding name: (identifier) @param)
(lambda_expression parameters: (identifier) @param)
[
  (class_parameter type: (_) @type)
  (val_definition type: (_) @type)
  (var_definition type: (_) @type)
  (val_declaration type: (_) @type)
  (var_declaration type: (_) @type)
  (binding type: (_) @type)
  (typed_pattern type: (_) @type)
  (lazy_parameter_type type: (_) @type)
]
((parameter type: (_) @type) (#not-match? @type "^=>"))
[
  (function_definition return_type: (_) @return_type)
  (function_declaration return_type: (_) @return_type)
]

; Types inferred from values.
([
  (val_definition value: [(string) (interpolated_string_expression)] @inferred)
  (var_definition value: [(string) (interpolated_string_expression)] @inferred)
  (parameter default_value: (string) @inferred)
  (class_parameter default_value: (string) @inferred)
] (#set! value "String"))
([
  (val_definition value: (integer_literal) @inferred)
  (var_definition value: (integer_literal) @inferred)
  (parameter default_value: (integer_literal) @inferred)
  (class_parameter default_value: (integer_literal) @inferred)
] (#not-match? @inferred "[lL]$") (#set! value "Int"))
([
  (val_definition value: (integer_literal) @inferred)
  (var_definition value: (integer_literal) @inferred)
] (#match? @inferred "[lL]$") (#set! value "Long"))
([
  (val_definition value: (floating_point_literal) @inferred)
  (var_definition value: (floating_point_literal) @inferred)
  (class_parameter default_value: (floating_point_literal) @inferred)
] (#not-match? @inferred "[fF]$") (#set! value "Double"))
([
  (val_definition value: (boolean_literal) @inferred)
  (var_definition value: (boolean_literal) @inferred)
  (parameter default_value: (boolean_literal) @inferred)
  (class_parameter default_value: (boolean_literal) @inferred)
] (#set! value "Boolean"))
[
  (val_definition value: (instance_expression . "new" . (type_identifier) @inferred))
  (val_definition value: (instance_expression . "new" . (generic_type type: (type_identifier) @inferred)))
  (var_definition value: (instance_expression . "new" . (type_identifier) @inferred))
  (var_definition value: (instance_expression . "new" . (generic_type type: (type_identifier) @inferred)))
]
([
  (val_definition value: (call_expression function: (identifier) @inferred))
  (var_definition value: (call_expression function: (identifier) @inferred))
  (val_definition value: (call_expression function: (generic_function function: (identifier) @inferred)))
  (var_definition value: (call_expression function: (generic_function function: (identifier) @inferred)))
] (#match? @inferred "^[A-Z][A-Za-z0-9]*[a-z]"))

; Return values, including those of bodies with a single expression.
(return_expression (_)) @returns
(function_definition !return_type body: [
  (identifier) (call_expression) (field_expression) (infix_expression) (if_expression) (match_expression) (instance_expression)
  (string) (interpolated_string_expression) (integer_literal) (floating_point_literal) (boolean_literal) (tuple_expression)
  (for_expression "yield") (lambda_expression)
] @returns)
((function_definition return_type: (_) @_type body: [
  (identifier) (call_expression) (field_expression) (infix_expression) (if_expression) (match_expression) (instance_expression)
  (string) (interpolated_string_expression) (integer_literal) (floating_point_literal) (boolean_literal) (tuple_expression)
  (for_expression "yield") (lambda_expression)
] @returns) (#not-eq? @_type "Unit"))

; Annotations, modifiers, visibility. The visibility of a parameter is not that of its class.
(annotation) @decorator
(modifiers ["abstract" "final" "sealed" "implicit" "lazy" "override"] @modifier)
(access_modifier ["private" "protected"] @modifier)
[(inline_modifier) (opaque_modifier) (open_modifier) (infix_modifier) (transparent_modifier)] @modifier
(class_definition "case" @modifier)
(object_definition "case" @modifier)
[
  (class_definition (modifiers (access_modifier ["private" "protected"] @visibility)))
  (object_definition (modifiers (access_modifier ["private" "protected"] @visibility)))
  (trait_definition (modifiers (access_modifier ["private" "protected"] @visibility)))
  (enum_definition (modifiers (access_modifier ["private" "protected"] @visibility)))
  (function_definition (modifiers (access_modifier ["private" "protected"] @visibility)))
  (function_declaration (modifiers (access_modifier ["private" "protected"] @visibility)))
  (val_definition (modifiers (access_modifier ["private" "protected"] @visibility)))
  (var_definition (modifiers (access_modifier ["private" "protected"] @visibility)))
  (type_definition (modifiers (access_modifier ["private" "protected"] @visibility)))
]

; Base types: the first in the list, and mixins.
(extends_clause "extends" . (type_identifier) @extends)
(extends_clause "extends" . (generic_type type: (type_identifier) @extends))
(extends_clause "extends" . (stable_type_identifier (type_identifier) @extends .))
(extends_clause "extends" . (generic_type type: (stable_type_identifier (type_identifier) @extends .)))
(extends_clause "with" . (type_identifier) @implements)
(extends_clause "with" . (generic_type type: (type_identifier) @implements))
(extends_clause "with" . (stable_type_identifier (type_identifier) @implements .))
(extends_clause "," . (type_identifier) @implements)
(extends_clause "," . (generic_type type: (type_identifier) @implements))
(derives_clause (type_identifier) @implements)

; Imports. A path has many nodes, but the query can capture only one: the first.
(import_declaration) @import

; Calls. For a call with several argument lists, the first.
(call_expression function: [(identifier) (field_expression) (parenthesized_expression)] @call arguments: (_) @arguments)
(call_expression function: (generic_function function: [(identifier) (field_expression)] @call) arguments: (_) @arguments)
(instance_expression "new" . [(type_identifier) (stable_type_identifier)] @call . (arguments) @arguments)
(instance_expression "new" . (generic_type type: (_) @call) . (arguments) @arguments)
(instance_expression "new" . [(type_identifier) (stable_type_identifier)] @call .)
(applied_constructor_type . [(type_identifier) (stable_type_identifier)] @call (arguments) @arguments)
(applied_constructor_type . (generic_type type: (_) @call) (arguments) @arguments)
(extends_clause [(type_identifier) (stable_type_identifier)] @call . (arguments) @arguments)
(extends_clause (generic_type type: (_) @call) . (arguments) @arguments)
(infix_expression operator: (identifier) @call)

; Throws.
(throw_expression (instance_expression "new" . [(type_identifier) (stable_type_identifier)] @throw))
(throw_expression (instance_expression "new" . (generic_type type: (_) @throw)))
(throw_expression (call_expression function: (_) @throw))
(throw_expression [(identifier) (field_expression)] @throw)
((call_expression function: (field_expression) @throw) (#eq? @throw "sys.error"))
((annotation name: (generic_type type: (_) @_throws type_arguments: (type_arguments (type_identifier) @throw))) (#eq? @_throws "throws"))
((annotation name: (_) @_throws arguments: (arguments (generic_function type_arguments: (type_arguments (type_identifier) @throw)))) (#eq? @_throws "throws"))

; Assignments and bindings. Named arguments have the syntax of assignments, so these are captured only outside of arguments.
(val_definition pattern: [(identifier) (tuple_pattern)] @target value: (_) @value)
(var_definition pattern: [(identifier) (tuple_pattern)] @target value: (_) @value)
[
  (block (assignment_expression left: [(identifier) (field_expression)] @target right: (_) @value))
  (indented_block (assignment_expression left: [(identifier) (field_expression)] @target right: (_) @value))
  (template_body (assignment_expression left: [(identifier) (field_expression)] @target right: (_) @value))
  (case_clause body: (assignment_expression left: [(identifier) (field_expression)] @target right: (_) @value))
  (lambda_expression (assignment_expression left: [(identifier) (field_expression)] @target right: (_) @value))
  (if_expression [consequence: (assignment_expression left: [(identifier) (field_expression)] @target right: (_) @value) alternative: (assignment_expression left: [(identifier) (field_expression)] @target right: (_) @value)])
  (function_definition body: (assignment_expression left: [(identifier) (field_expression)] @target right: (_) @value))
  (while_expression body: (assignment_expression left: [(identifier) (field_expression)] @target right: (_) @value))
  (for_expression body: (assignment_expression left: [(identifier) (field_expression)] @target right: (_) @value))
]
(assignment_expression left: (call_expression function: (_) @target) right: (_) @value)
((infix_expression left: [(identifier) (field_expression)] @target operator: (operator_identifier) @_op right: (_) @value) (#match? @_op "^([-+*/%&|^:]|\\+\\+|--)=$"))
((infix_expression left: (call_expression function: (_) @target) operator: (operator_identifier) @_op right: (_) @value) (#match? @_op "^[-+*/%&|^]=$"))
(enumerator . [(identifier) (tuple_pattern)] @target . ["<-" "="] . (_) @value)
([
  (case_clause pattern: (identifier) @target)
  (case_class_pattern pattern: (identifier) @target)
  (typed_pattern pattern: (identifier) @target)
  (capture_pattern name: (identifier) @target)
  (tuple_pattern (identifier) @target)
  (infix_pattern left: (identifier) @target)
  (infix_pattern right: (identifier) @target)
] (#match? @target "^[a-z_]"))

; Names.
((identifier) @identifier (#not-any-of? @identifier "this" "super"))
(type_identifier) @use
[
  (import_declaration (identifier) @use)
  (export_declaration (identifier) @use)
  (extension_definition body: (function_definition name: (identifier) @use))
  (namespace_selectors (identifier) @use)
  (arrow_renamed_identifier (identifier) @use)
  (as_renamed_identifier (identifier) @use)
  (package_identifier (identifier) @use)
  (type_parameters name: (identifier) @use)
  (arguments (assignment_expression left: (identifier) @use))
  (interpolated_string_expression interpolator: (identifier) @use)
  (simple_enum_case name: (identifier) @use)
  (full_enum_case name: (identifier) @use)
  (self_type (identifier) @use)
  (access_qualifier (identifier) @use)
  (enum_definition name: (identifier) @use)
  (val_declaration name: (identifier) @use)
  (var_declaration name: (identifier) @use)
  (stable_type_identifier (identifier) @use)
  (assignment_expression left: (field_expression field: (identifier) @use))
]

; Control flow. The branches of a `catch` are cases; a `for` with `yield` creates a collection
; and is recognised only by its text, because an anchor skips the keyword.
[(if_expression) (match_expression) (case_clause) (try_expression) (finally_clause)] @branch
(if_expression "else" @branch)
[(while_expression) (do_while_expression)] @loop
((for_expression ["(" "{"]) @loop (#not-match? @loop "^for\\s*(\\(([^()]|\\(([^()]|\\([^()]*\\))*\\))*\\)|\\{([^{}]|\\{([^{}]|\\{[^{}]*\\})*\\})*\\})\\s*(yield|do)\\b"))
(for_expression "do" @loop)
(return_expression) @return

; Comments and lint rules.
[(comment) (block_comment)] @comment
((catch_clause (case_block (case_clause !body) @lint)) (#set! value "empty-catch"))
((catch_clause (case_block (case_clause body: (unit)) @lint)) (#set! value "empty-catch"))
((block [(return_expression) (throw_expression)] . [
  (call_expression) (assignment_expression) (val_definition) (var_definition) (return_expression) (throw_expression)
  (if_expression) (match_expression) (for_expression) (while_expression) (infix_expression)
] @lint) (#set! value "unreachable-code"))
((generic_function function: (field_expression field: (identifier) @lint)) (#eq? @lint "asInstanceOf") (#set! value "unsafe-cast"))
