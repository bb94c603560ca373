; Facts of C#.
; Members are private by default; the visibility of top-level types and of interface members is set below.
;! default-visibility internal in file module
;! default-visibility public in interface
;! default-visibility private

; Parameters and types. `var` declares no type.
(parameter name: (identifier) @param)
(parameter_list name: (identifier) @param)
(implicit_parameter) @param
([
  (parameter type: (_) @type)
  (parameter_list type: (_) @type)
  (variable_declaration type: (_) @type)
  (property_declaration type: (_) @type)
  (indexer_declaration type: (_) @type)
  (event_declaration type: (_) @type)
  (declaration_expression type: (_) @type)
  (declaration_pattern type: (_) @type)
  (foreach_statement type: (_) @type)
  (catch_declaration type: (_) @type)
] (#not-eq? @type "var"))
(recursive_pattern type: (_) @type)
(enum_declaration (base_list (_) @type))
(method_declaration returns: (_) @return_type)
[
  (local_function_statement type: (_) @return_type)
  (delegate_declaration type: (_) @return_type)
  (operator_declaration type: (_) @return_type)
  (conversion_operator_declaration type: (_) @return_type)
]

; Types inferred from values.
([
  (variable_declarator (string_literal) @inferred)
  (variable_declarator (interpolated_string_expression) @inferred)
  (variable_declarator (verbatim_string_literal) @inferred)
  (variable_declarator (raw_string_literal) @inferred)
  (parameter (string_literal) @inferred)
  (property_declaration value: (string_literal) @inferred)
] (#set! value "string"))
([
  (variable_declarator (integer_literal) @inferred)
  (parameter (integer_literal) @inferred)
  (property_declaration value: (integer_literal) @inferred)
] (#match? @inferred "^[0-9_]+$") (#set! value "int"))
([
  (variable_declarator (integer_literal) @inferred)
  (property_declaration value: (integer_literal) @inferred)
] (#match? @inferred "^[0-9_]+[lL]$") (#set! value "long"))
([
  (variable_declarator (real_literal) @inferred)
  (parameter (real_literal) @inferred)
  (property_declaration value: (real_literal) @inferred)
] (#match? @inferred "^[0-9_.eE+-]+[dD]?$") (#set! value "double"))
([
  (variable_declarator (real_literal) @inferred)
  (property_declaration value: (real_literal) @inferred)
] (#match? @inferred "[mM]$") (#set! value "decimal"))
([
  (variable_declarator (boolean_literal) @inferred)
  (parameter (boolean_literal) @inferred)
  (property_declaration value: (boolean_literal) @inferred)
] (#set! value "bool"))
([
  (variable_declarator (character_literal) @inferred)
  (parameter (character_literal) @inferred)
] (#set! value "char"))
(variable_declarator (object_creation_expression type: (_) @inferred))
(property_declaration value: (object_creation_expression type: (_) @inferred))
(assignment_expression right: (object_creation_expression type: (_) @inferred))
((variable_declarator [(array_creation_expression) (implicit_array_creation_expression)] @inferred) (#set! value "array"))
(variable_declarator (cast_expression type: (_) @inferred))
(variable_declarator (as_expression right: (_) @inferred))

; Return values. An expression body returns a value unless the method is void or a constructor.
(return_statement (_)) @returns
(method_declaration returns: (_) @_type body: (arrow_expression_clause (_) @returns) (#not-any-of? @_type "void" "Task"))
(local_function_statement type: (_) @_type body: (arrow_expression_clause (_) @returns) (#not-any-of? @_type "void" "Task"))
(operator_declaration body: (arrow_expression_clause (_) @returns))
(conversion_operator_declaration body: (arrow_expression_clause (_) @returns))
(property_declaration value: (arrow_expression_clause (_) @returns))
(indexer_declaration value: (arrow_expression_clause (_) @returns))
(accessor_declaration name: "get" body: (arrow_expression_clause (_) @returns))

; Attributes, modifiers, visibility. The visibility of an accessor is not that of its property.
(attribute) @decorator
(modifier) @modifier
[
  (class_declaration (modifier ["public" "private" "protected" "internal" "file"]) @visibility)
  (record_declaration (modifier ["public" "private" "protected" "internal" "file"]) @visibility)
  (struct_declaration (modifier ["public" "private" "protected" "internal" "file"]) @visibility)
  (interface_declaration (modifier ["public" "private" "protected" "internal" "file"]) @visibility)
  (enum_declaration (modifier ["public" "private" "protected" "internal" "file"]) @visibility)
  (delegate_declaration (modifier ["public" "private" "protected" "internal" "file"]) @visibility)
  (method_declaration (modifier ["public" "private" "protected" "internal" "file"]) @visibility)
  (constructor_declaration (modifier ["public" "private" "protected" "internal" "file"]) @visibility)
  (property_declaration (modifier ["public" "private" "protected" "internal" "file"]) @visibility)
  (field_declaration (modifier ["public" "private" "protected" "internal" "file"]) @visibility)
  (event_field_declaration (modifier ["public" "private" "protected" "internal" "file"]) @visibility)
  (event_declaration (modifier ["public" "private" "protected" "internal" "file"]) @visibility)
  (indexer_declaration (modifier ["public" "private" "protected" "internal" "file"]) @visibility)
  (operator_declaration (modifier ["public" "private" "protected" "internal" "file"]) @visibility)
  (conversion_operator_declaration (modifier ["public" "private" "protected" "internal" "file"]) @visibility)
]

; Base types. Interfaces are recognised by the naming convention: `I` and a capital letter.
([
  (class_declaration (base_list . [(identifier) (qualified_name)] @extends))
  (class_declaration (base_list . (generic_name . (identifier) @extends)))
  (record_declaration (base_list . [(identifier) (qualified_name)] @extends))
  (record_declaration (base_list . (generic_name . (identifier) @extends)))
] (#not-match? @extends "(^|[.])I[A-Z]([a-z]|$)"))
([
  (class_declaration (base_list . [(identifier) (qualified_name)] @implements))
  (class_declaration (base_list . (generic_name . (identifier) @implements)))
  (record_declaration (base_list . [(identifier) (qualified_name)] @implements))
  (record_declaration (base_list . (generic_name . (identifier) @implements)))
] (#match? @implements "(^|[.])I[A-Z]([a-z]|$)"))
[
  (class_declaration (base_list (_) . [(identifier) (qualified_name)] @implements))
  (class_declaration (base_list (_) . (generic_name . (identifier) @implements)))
  (record_declaration (base_list (_) . [(identifier) (qualified_name)] @implements))
  (record_declaration (base_list (_) . (generic_name . (identifier) @implements)))
  (struct_declaration (base_list [(identifier) (qualified_name)] @implements))
  (struct_declaration (base_list (generic_name . (identifier) @implements)))
]
(interface_declaration (base_list [(identifier) (qualified_name)] @extends))
(interface_declaration (base_list (generic_name . (identifier) @extends)))
(primary_constructor_base_type type: [(identifier) (qualified_name)] @extends)
(primary_constructor_base_type type: (generic_name . (identifier) @extends))

; Imports; for an alias, the right side.
(using_directive !name [(identifier) (qualified_name) (alias_qualified_name)] @import)
(using_directive name: (identifier) "=" . [(identifier) (qualified_name) (alias_qualified_name)] @import)

; Exports: types that other assemblies may use.
[
  (class_declaration (modifier "public") name: (identifier) @export)
  (record_declaration (modifier "public") name: (identifier) @export)
  (struct_declaration (modifier "public") name: (identifier) @export)
  (interface_declaration (modifier "public") name: (identifier) @export)
  (enum_declaration (modifier "public") name: (identifier) @export)
  (delegate_declaration (modifier "public") name: (identifier) @export)
]

; Asynchronous code and iterators. An asynchronous lambda makes the method around it asynchronous.
(method_declaration (modifier "async") @async)
(local_function_statement (modifier "async") @async)
([(lambda_expression (modifier) @async) (anonymous_method_expression (modifier) @async)] (#eq? @async "async"))
(await_expression (invocation_expression function: (_) @await) (#not-match? @await "[.]ConfigureAwait$"))
; `.ConfigureAwait(false)` is not part of what is awaited.
(await_expression (invocation_expression function: (member_access_expression
  expression: (invocation_expression function: (_) @await) name: (identifier) @_how)) (#eq? @_how "ConfigureAwait"))
(await_expression (invocation_expression function: (member_access_expression
  expression: [(identifier) (member_access_expression)] @await name: (identifier) @_how)) (#eq? @_how "ConfigureAwait"))
(await_expression [(identifier) (member_access_expression) (conditional_access_expression) (element_access_expression)] @await)
(foreach_statement "await" right: (invocation_expression function: (_) @await))
(foreach_statement "await" right: [(identifier) (member_access_expression)] @await)
(yield_statement "return" . (_) @yield)
(yield_statement "break") @generator

; Calls. `nameof` is not a call.
(invocation_expression function: (_) @call arguments: (_) @arguments (#not-eq? @call "nameof"))
(object_creation_expression type: (_) @call arguments: (_)? @arguments)
(variable_declaration type: (_) @call (variable_declarator (implicit_object_creation_expression (argument_list) @arguments)))
(property_declaration type: (_) @call value: (implicit_object_creation_expression (argument_list) @arguments))
(constructor_initializer ["base" "this"] @call (argument_list) @arguments)
(primary_constructor_base_type type: (_) @call (argument_list) @arguments)

; Throws.
[
  (throw_statement (object_creation_expression type: (_) @throw))
  (throw_expression (object_creation_expression type: (_) @throw))
  (throw_statement (invocation_expression function: (_) @throw))
  (throw_expression (invocation_expression function: (_) @throw))
  (throw_statement [(identifier) (member_access_expression)] @throw)
  (throw_expression [(identifier) (member_access_expression)] @throw)
]
(invocation_expression function: (member_access_expression expression: (identifier) @throw name: (identifier) @_if)
  (#match? @_if "^ThrowIf") (#match? @throw "Exception$"))

; Assignments. Those in the braces of an initialiser set members and are not statements.
(variable_declarator name: (identifier) @target "=" . (_) @value)
(variable_declarator . (tuple_pattern) @target "=" . (_) @value)
(property_declaration name: (identifier) @target "=" value: (_) @value)
[
  (expression_statement (assignment_expression left: [(identifier) (member_access_expression) (element_access_expression)] @target right: (_) @value))
  (arrow_expression_clause (assignment_expression left: [(identifier) (member_access_expression) (element_access_expression)] @target right: (_) @value))
  (lambda_expression body: (assignment_expression left: [(identifier) (member_access_expression) (element_access_expression)] @target right: (_) @value))
  (parenthesized_expression (assignment_expression left: [(identifier) (member_access_expression) (element_access_expression)] @target right: (_) @value))
  (assignment_expression right: (assignment_expression left: [(identifier) (member_access_expression) (element_access_expression)] @target right: (_) @value))
  (variable_declarator (assignment_expression left: [(identifier) (member_access_expression) (element_access_expression)] @target right: (_) @value))
  (return_statement (assignment_expression left: [(identifier) (member_access_expression) (element_access_expression)] @target right: (_) @value))
  (for_statement (assignment_expression left: [(identifier) (member_access_expression) (element_access_expression)] @target right: (_) @value))
]
(assignment_expression left: (tuple_expression (argument [
  (identifier) @target
  (member_access_expression) @target
  (element_access_expression) @target
  (declaration_expression name: (identifier) @target)
])) right: (_) @value)
(postfix_unary_expression [(identifier) (member_access_expression) (element_access_expression)] @target ["++" "--"])
(prefix_unary_expression ["++" "--"] [(identifier) (member_access_expression) (element_access_expression)] @target)
(foreach_statement left: [(identifier) (tuple_pattern)] @target right: (_) @value)
(foreach_statement left: (tuple_expression (argument (declaration_expression name: (identifier) @target))) right: (_) @value)
(declaration_expression name: (identifier) @target)
(is_pattern_expression expression: (_) @value pattern: [
  (declaration_pattern name: (identifier) @target)
  (recursive_pattern name: (identifier) @target)
])
[(declaration_pattern name: (identifier) @target) (recursive_pattern name: (identifier) @target)]
(catch_declaration name: (identifier) @target)
(from_clause name: (identifier) @target "in" . (_) @value)
(join_clause (identifier) @target . "in" . (_) @value)
(let_clause . (identifier) @target "=" . (_) @value)
(query_expression "into" . (identifier) @target)
(argument ["out" "ref"] . [(identifier) (member_access_expression) (element_access_expression)] @target)

; Names.
(identifier) @identifier
[
  (generic_name . (identifier) @use)
  (type_argument_list (identifier) @use)
  (qualified_name (identifier) @use)
  (alias_qualified_name (identifier) @use)
  (nullable_type type: (identifier) @use)
  (array_type type: (identifier) @use)
  (pointer_type type: (identifier) @use)
  (ref_type type: (identifier) @use)
  (tuple_element type: (identifier) @use)
  (tuple_element name: (identifier) @use)
  (parameter type: (identifier) @use)
  (parameter_list type: (identifier) @use)
  (variable_declaration type: (identifier) @use)
  (property_declaration type: (identifier) @use)
  (indexer_declaration type: (identifier) @use)
  (event_declaration type: (identifier) @use)
  (event_declaration name: (identifier) @use)
  (method_declaration returns: (identifier) @use)
  (local_function_statement type: (identifier) @use)
  (delegate_declaration type: (identifier) @use)
  (operator_declaration type: (identifier) @use)
  (conversion_operator_declaration type: (identifier) @use)
  (declaration_expression type: (identifier) @use)
  (declaration_pattern type: (identifier) @use)
  (recursive_pattern type: (identifier) @use)
  (type_pattern type: (identifier) @use)
  (foreach_statement type: (identifier) @use)
  (catch_declaration type: (identifier) @use)
  (object_creation_expression type: (identifier) @use)
  (cast_expression type: (identifier) @use)
  (typeof_expression type: (identifier) @use)
  (sizeof_expression type: (identifier) @use)
  (default_expression type: (identifier) @use)
  (as_expression right: (identifier) @use)
  (is_expression right: (identifier) @use)
  (base_list (identifier) @use)
  (primary_constructor_base_type type: (identifier) @use)
  (type_parameter name: (identifier) @use)
  (type_parameter_constraint type: (identifier) @use)
  (type_parameter_constraints_clause (identifier) @use)
  (explicit_interface_specifier (identifier) @use)
  (attribute name: (identifier) @use)
  (attribute_argument (identifier) @use . "=")
  (enum_member_declaration name: (identifier) @use)
  (subpattern (identifier) @use . ":")
  (argument name: (identifier) @use)
  (tuple_pattern name: (identifier) @use)
  (anonymous_object_creation_expression (identifier) @use . "=")
  (with_initializer . (identifier) @use)
  (initializer_expression (assignment_expression left: (identifier) @use))
  (assignment_expression left: (member_access_expression name: (identifier) @use) operator: "=")
  (labeled_statement . (identifier) @use)
  (goto_statement (identifier) @use)
  (using_directive (identifier) @use)
  (namespace_declaration name: (identifier) @use)
  (file_scoped_namespace_declaration name: (identifier) @use)
  (preproc_if condition: (identifier) @use)
  (preproc_elif condition: (identifier) @use)
]
(invocation_expression function: (identifier) @use (#eq? @use "nameof"))

; Control flow.
[
  (if_statement) (switch_statement) (switch_section) (switch_expression) (switch_expression_arm)
  (try_statement) (catch_clause) (finally_clause) (conditional_expression)
] @branch
(if_statement "else" @branch)
[(for_statement) (foreach_statement) (while_statement) (do_statement)] @loop
(break_statement) @break
(continue_statement) @continue
(return_statement) @return

; Comments and lint rules.
(comment) @comment
((catch_clause body: (block . "{" . "}")) @lint (#set! value "empty-catch"))
((catch_clause body: (block . (comment)+ . "}")) @lint (#set! value "empty-catch"))
([
  (block [(return_statement) (throw_statement) (break_statement) (continue_statement)] . [
    (expression_statement) (local_declaration_statement) (return_statement) (throw_statement) (if_statement)
  ] @lint)
  (switch_section [(return_statement) (throw_statement) (continue_statement)] . [
    (expression_statement) (return_statement) (break_statement)
  ] @lint)
] (#set! value "unreachable-code"))
; `throw error;` of a caught exception loses its stack trace; `throw;` does not.
((catch_clause (catch_declaration name: (identifier) @_caught) body: (block (throw_statement (identifier) @_thrown) @lint))
  (#eq? @_caught @_thrown) (#set! value "rethrow-loses-trace"))
((lock_statement "this") @lint (#set! value "lock-this"))
((if_statement consequence: (empty_statement)) @lint (#set! value "empty-statement"))
((goto_statement (identifier)) @lint (#set! value "goto"))
