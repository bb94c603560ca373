; Facts of Swift.
;! default-visibility internal

; Parameters and types. A parameter is known by its inner name.
(parameter name: (simple_identifier) @param)
(lambda_parameter name: (simple_identifier) @param)
(willset_clause (simple_identifier) @param)
(didset_clause (simple_identifier) @param)
(parameter [(user_type) (optional_type) (array_type) (dictionary_type) (function_type) (tuple_type) (opaque_type) (existential_type) (metatype) (protocol_composition_type)] @type)
(lambda_parameter [(user_type) (optional_type) (array_type) (dictionary_type) (function_type) (tuple_type) (opaque_type) (existential_type) (metatype) (protocol_composition_type)] @type)
(type_annotation [(user_type) (optional_type) (array_type) (dictionary_type) (function_type) (tuple_type) (opaque_type) (existential_type) (metatype) (protocol_composition_type)] @type)
((class_declaration declaration_kind: "enum" . (_) . (inheritance_specifier inherits_from: (user_type) @type))
  (#any-of? @type "String" "Character" "Int" "Int8" "Int16" "Int32" "Int64" "UInt" "UInt8" "UInt16" "UInt32" "UInt64" "Float" "Double"))
(catch_block error: (pattern "as" (user_type) @type))
; The only type that is a direct child of a function is its return type.
(function_declaration "->" . [(user_type) (optional_type) (array_type) (dictionary_type) (function_type) (tuple_type) (opaque_type) (existential_type) (metatype) (protocol_composition_type)] @return_type)
(protocol_function_declaration "->" . [(user_type) (optional_type) (array_type) (dictionary_type) (function_type) (tuple_type) (opaque_type) (existential_type) (metatype) (protocol_composition_type)] @return_type)
(subscript_declaration "->" . [(user_type) (optional_type) (array_type) (dictionary_type) (function_type) (tuple_type) (opaque_type) (existential_type) (metatype) (protocol_composition_type)] @return_type)
(lambda_function_type "->" . [(user_type) (optional_type) (array_type) (dictionary_type) (function_type) (tuple_type) (opaque_type) (existential_type) (metatype) (protocol_composition_type)] @return_type)

; Types inferred from values.
([
  (property_declaration value: [(line_string_literal) (multi_line_string_literal) (raw_string_literal)] @inferred)
  (function_declaration default_value: [(line_string_literal) (multi_line_string_literal) (raw_string_literal)] @inferred)
  (init_declaration default_value: [(line_string_literal) (multi_line_string_literal) (raw_string_literal)] @inferred)
] (#set! value "String"))
([
  (property_declaration value: [(integer_literal) (hex_literal) (bin_literal) (oct_literal)] @inferred)
  (function_declaration default_value: [(integer_literal) (hex_literal)] @inferred)
  (init_declaration default_value: [(integer_literal) (hex_literal)] @inferred)
] (#set! value "Int"))
([
  (property_declaration value: (real_literal) @inferred)
  (function_declaration default_value: (real_literal) @inferred)
  (init_declaration default_value: (real_literal) @inferred)
] (#set! value "Double"))
([
  (property_declaration value: (boolean_literal) @inferred)
  (function_declaration default_value: (boolean_literal) @inferred)
  (init_declaration default_value: (boolean_literal) @inferred)
] (#set! value "Bool"))
([
  (property_declaration value: (array_literal) @inferred)
  (function_declaration default_value: (array_literal) @inferred)
  (init_declaration default_value: (array_literal) @inferred)
] (#set! value "Array"))
([
  (property_declaration value: (dictionary_literal) @inferred)
  (function_declaration default_value: (dictionary_literal) @inferred)
  (init_declaration default_value: (dictionary_literal) @inferred)
] (#set! value "Dictionary"))
(property_declaration value: (constructor_expression constructed_type: (_) @inferred))
([
  (property_declaration value: (call_expression . (simple_identifier) @inferred (call_suffix (value_arguments "("))))
  (assignment result: (call_expression . (simple_identifier) @inferred (call_suffix (value_arguments "("))))
] (#match? @inferred "^[A-Z]"))
(property_declaration value: (as_expression (user_type) @inferred))

; Return values, including those of bodies with a single expression.
(control_transfer_statement "return" . result: (_)) @returns
[
  (function_declaration "->" body: (function_body (statements . [
    (call_expression) (navigation_expression) (simple_identifier) (ternary_expression) (line_string_literal) (integer_literal)
    (boolean_literal) (additive_expression) (multiplicative_expression) (equality_expression) (comparison_expression)
    (conjunction_expression) (disjunction_expression) (nil_coalescing_expression) (constructor_expression) (array_literal)
    (dictionary_literal) (prefix_expression) (as_expression) (try_expression) (await_expression) (tuple_expression)
  ] @returns .)))
  (computed_property (statements . [
    (call_expression) (navigation_expression) (simple_identifier) (ternary_expression) (line_string_literal) (integer_literal)
    (boolean_literal) (additive_expression) (multiplicative_expression) (equality_expression) (comparison_expression)
    (conjunction_expression) (disjunction_expression) (nil_coalescing_expression) (constructor_expression) (array_literal)
    (dictionary_literal) (prefix_expression) (as_expression) (try_expression) (await_expression) (tuple_expression)
  ] @returns .))
]

; Attributes, modifiers, visibility. `private(set)` hides the setter only.
(attribute) @decorator
[
  (visibility_modifier) (inheritance_modifier) (member_modifier) (mutation_modifier) (ownership_modifier)
  (property_modifier) (property_behavior_modifier) (function_modifier) (parameter_modifier)
] @modifier
(enum_entry "indirect" @modifier)
((visibility_modifier) @visibility (#any-of? @visibility "public" "open" "package" "internal" "fileprivate" "private"))

; Base types. The first entry in the list of a class is its base class; protocols are recognised by naming conventions.
((class_declaration declaration_kind: "class" name: (_) . (type_parameters)? . (inheritance_specifier inherits_from: (user_type . (type_identifier) @extends)))
  (#not-match? @extends "(able|ible|[a-z]ing|Protocol|Delegate|DataSource)$")
  (#not-any-of? @extends "Error" "Actor" "AnyObject"))
((class_declaration declaration_kind: "class" name: (_) . (type_parameters)? . (inheritance_specifier inherits_from: (user_type . (type_identifier) @implements)))
  (#match? @implements "((able|ible|[a-z]ing|Protocol|Delegate|DataSource)$)|^(Error|Actor|AnyObject)$"))
(class_declaration declaration_kind: "class" (inheritance_specifier) . (inheritance_specifier inherits_from: (user_type (type_identifier) @implements .)))
(class_declaration declaration_kind: ["struct" "extension" "actor"] (inheritance_specifier inherits_from: (user_type . (type_identifier) @implements)))
((class_declaration declaration_kind: "enum" (inheritance_specifier inherits_from: (user_type . (type_identifier) @implements)))
  (#not-any-of? @implements "String" "Character" "Int" "Int8" "Int16" "Int32" "Int64" "UInt" "UInt8" "UInt16" "UInt32" "UInt64" "Float" "Double"))
(protocol_declaration (inheritance_specifier inherits_from: (user_type . (type_identifier) @extends)))

(import_declaration (identifier) @import)

; Exports: names that other modules may use.
([
  (class_declaration (modifiers (visibility_modifier) @_open) name: (type_identifier) @export)
  (protocol_declaration (modifiers (visibility_modifier) @_open) name: (type_identifier) @export)
  (typealias_declaration (modifiers (visibility_modifier) @_open) name: (type_identifier) @export)
  (function_declaration (modifiers (visibility_modifier) @_open) name: (simple_identifier) @export)
  (property_declaration (modifiers (visibility_modifier) @_open) name: (pattern bound_identifier: (simple_identifier) @export))
] (#any-of? @_open "public" "open"))

; Asynchronous code. A closure that awaits makes the function around it asynchronous.
[(await_expression) (for_statement "await")] @async
(lambda_function_type "async" @async)
(function_declaration "async" @async)
(protocol_function_declaration "async" @async)
(init_declaration "async" @async)
(await_expression expr: (call_expression . (_) @await))
(await_expression expr: (try_expression expr: (call_expression . (_) @await)))
(await_expression expr: (constructor_expression constructed_type: (_) @await))
(await_expression expr: [(simple_identifier) (navigation_expression)] @await)
(for_statement "await" collection: (call_expression . (_) @await))
(for_statement "await" collection: [(simple_identifier) (navigation_expression)] @await)

; Calls. Subscripts and `defer` have the syntax of calls.
(call_expression . (_) @call (call_suffix (value_arguments "(") @arguments))
(call_expression . (_) @call (call_suffix . (lambda_literal)) @arguments (#not-eq? @call "defer"))
(constructor_expression constructed_type: (_) @call (constructor_suffix (value_arguments) @arguments))
(macro_invocation (simple_identifier) @call)

; Throws.
(control_transfer_statement (throw_keyword) . (call_expression . (_) @throw))
(control_transfer_statement (throw_keyword) . (constructor_expression constructed_type: (_) @throw))
(control_transfer_statement (throw_keyword) . [(simple_identifier) (navigation_expression) (prefix_expression)] @throw)
((call_expression . (simple_identifier) @throw) (#any-of? @throw "fatalError" "preconditionFailure"))
(throws_clause (user_type) @throw)

; Assignments and bindings.
(property_declaration name: (pattern) @target . value: (_) @value)
(property_declaration name: (pattern) @target . (type_annotation) . value: (_) @value)
(assignment target: (directly_assignable_expression) @target result: (_) @value)
(for_statement item: (pattern) @target collection: (_) @value)
[
  (if_statement bound_identifier: (simple_identifier) @target . "=" . (_) @value)
  (guard_statement bound_identifier: (simple_identifier) @target . "=" . (_) @value)
  (while_statement bound_identifier: (simple_identifier) @target . "=" . (_) @value)
]
[
  (if_statement bound_identifier: (simple_identifier) @target)
  (guard_statement bound_identifier: (simple_identifier) @target)
  (while_statement bound_identifier: (simple_identifier) @target)
]
[
  (if_statement (pattern (value_binding_pattern) bound_identifier: (simple_identifier) @target))
  (guard_statement (pattern (value_binding_pattern) bound_identifier: (simple_identifier) @target))
  (while_statement (pattern (value_binding_pattern) bound_identifier: (simple_identifier) @target))
  (switch_pattern (pattern (value_binding_pattern) bound_identifier: (simple_identifier) @target))
  (catch_block error: (pattern (value_binding_pattern) bound_identifier: (simple_identifier) @target))
  (pattern (pattern (value_binding_pattern) bound_identifier: (simple_identifier) @target))
  (pattern (value_binding_pattern) (pattern (simple_identifier) @target))
]
(value_argument value: (prefix_expression operation: "&" target: (_) @target))

; Names.
(simple_identifier) @identifier
(type_identifier) @use
[
  (parameter external_name: (simple_identifier) @use)
  (value_argument_label (simple_identifier) @use)
  (enum_entry name: (simple_identifier) @use)
  (enum_type_parameters (simple_identifier) @use)
  (identifier (simple_identifier) @use)
  (attribute (simple_identifier) @use)
  (directive (simple_identifier) @use)
  (precedence_group_declaration (simple_identifier) @use)
  (tuple_type_item name: (simple_identifier) @use)
  (control_transfer_statement ["break" "continue"] . result: (simple_identifier) @use)
  (property_declaration name: (pattern bound_identifier: (simple_identifier) @use))
  (protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @use))
  (pattern (pattern (simple_identifier) @use))
  (directly_assignable_expression (tuple_expression value: (simple_identifier) @use))
  (assignment target: (directly_assignable_expression (navigation_expression suffix: (navigation_suffix suffix: (simple_identifier) @use))) operator: "=")
]
((call_expression . (simple_identifier) @use) (#eq? @use "defer"))
((switch_entry (statements (simple_identifier) @use)) (#eq? @use "fallthrough"))

; Control flow. A `do` with a `catch` counts as a `try`.
[(if_statement) (guard_statement) (switch_statement) (switch_entry) (catch_block) (ternary_expression)] @branch
(if_statement (else) @branch)
(do_statement "}" @branch . (catch_block))
[(for_statement) (while_statement) (repeat_while_statement)] @loop
(control_transfer_statement "break") @break
(control_transfer_statement "continue") @continue
(control_transfer_statement "return") @return

; Comments and lint rules.
[(comment) (multiline_comment)] @comment
((catch_block "{" . "}") @lint (#set! value "empty-catch"))
((catch_block "{" . [(comment) (multiline_comment)]+ . "}") @lint (#set! value "empty-catch"))
((statements (control_transfer_statement) . [
  (call_expression) (assignment) (property_declaration) (control_transfer_statement) (if_statement) (guard_statement)
  (for_statement) (while_statement) (repeat_while_statement) (switch_statement) (do_statement) (try_expression)
] @lint) (#set! value "unreachable-code"))
((try_operator) @lint (#eq? @lint "try!") (#set! value "force-try"))
((as_operator) @lint (#eq? @lint "as!") (#set! value "force-cast"))
