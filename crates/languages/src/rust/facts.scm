; Facts of Rust.
;! default-visibility private

; Parameters, also those inside patterns: `|(name, &size)|`, `State(app): State<App>`.
(self_parameter (self) @param)
[
  (parameter pattern: (identifier) @param)
  (parameter pattern: (_ (identifier) @param .))
  (parameter pattern: (tuple_pattern (identifier) @param))
  (parameter pattern: (tuple_struct_pattern type: (_) (tuple_pattern (identifier) @param)))
  (parameter pattern: (struct_pattern (field_pattern [(shorthand_field_identifier) (identifier)] @param)))
  (closure_parameters (identifier) @param)
  (closure_parameters (_ (identifier) @param .))
  (closure_parameters (tuple_pattern [(identifier) @param (_ (identifier) @param .) (tuple_pattern (identifier) @param)]))
  (closure_parameters (reference_pattern (tuple_pattern [(identifier) @param (_ (identifier) @param .)])))
  (closure_parameters (struct_pattern (field_pattern [(shorthand_field_identifier) (identifier)] @param)))
]

; Types.
(parameter type: (_) @type)
(field_declaration type: (_) @type)
(ordered_field_declaration_list type: (_) @type)
(let_declaration type: (_) @type)
(const_item type: (_) @type)
(static_item type: (_) @type)
(function_item return_type: (_) @return_type)
(function_signature_item return_type: (_) @return_type)

; Types inferred from values. Constructors are recognised by naming conventions; `?` unwraps their results.
((let_declaration value: [(string_literal) (raw_string_literal)] @inferred) (#set! value "&str"))
((let_declaration value: (integer_literal) @inferred) (#not-match? @inferred "[iu](8|16|32|64|128|size)$") (#set! value "i32"))
((let_declaration value: (integer_literal) @inferred) (#match? @inferred "u8$") (#set! value "u8"))
((let_declaration value: (integer_literal) @inferred) (#match? @inferred "u32$") (#set! value "u32"))
((let_declaration value: (integer_literal) @inferred) (#match? @inferred "u64$") (#set! value "u64"))
((let_declaration value: (integer_literal) @inferred) (#match? @inferred "i64$") (#set! value "i64"))
((let_declaration value: (integer_literal) @inferred) (#match? @inferred "usize$") (#set! value "usize"))
((let_declaration value: (float_literal) @inferred) (#not-match? @inferred "f32$") (#set! value "f64"))
((let_declaration value: (float_literal) @inferred) (#match? @inferred "f32$") (#set! value "f32"))
((let_declaration value: (boolean_literal) @inferred) (#set! value "bool"))
((let_declaration value: (char_literal) @inferred) (#set! value "char"))
((let_declaration value: (array_expression) @inferred) (#set! value "array"))
((let_declaration value: (macro_invocation macro: (identifier) @inferred)) (#eq? @inferred "vec") (#set! value "Vec"))
((let_declaration value: (macro_invocation macro: (identifier) @inferred)) (#eq? @inferred "format") (#set! value "String"))
((let_declaration value: (call_expression function: (field_expression value: (string_literal) field: (field_identifier) @inferred)))
  (#any-of? @inferred "to_string" "to_owned") (#set! value "String"))
(let_declaration value: (struct_expression name: [(type_identifier) (scoped_type_identifier)] @inferred))
(let_declaration value: (struct_expression name: (generic_type_with_turbofish type: (_) @inferred)))
(let_declaration value: (type_cast_expression type: (_) @inferred))
((let_declaration value: (call_expression function: (scoped_identifier path: [
  (identifier) @inferred (scoped_identifier name: (identifier) @inferred) (generic_type type: (type_identifier) @inferred)
] name: (identifier) @_make)))
  (#match? @inferred "^[A-Z]") (#match? @_make "^(new|default|from|now|with_[a-z_]+|from_(secs|millis|micros|nanos|iter|bits))$"))
((let_declaration value: (try_expression [
  (call_expression function: (scoped_identifier path: [(identifier) @inferred (scoped_identifier name: (identifier) @inferred)]))
  (await_expression (call_expression function: (scoped_identifier path: [(identifier) @inferred (scoped_identifier name: (identifier) @inferred)])))
])) (#match? @inferred "^[A-Z]"))
((let_declaration value: (call_expression function: (identifier) @inferred)) (#match? @inferred "^[A-Z]") (#not-any-of? @inferred "Some" "Ok" "Err"))
((let_declaration value: (call_expression function: (generic_function function: (field_expression field: (field_identifier) @_make) type_arguments: (type_arguments . (_) @inferred .))))
  (#any-of? @_make "collect" "sum" "product"))

; Return values, including the last expression of a body.
(return_expression (_)) @returns
(function_item return_type: (_) body: (block [(_expression) @returns (expression_statement [(match_expression) (if_expression)]) @returns] .))

; Attributes, modifiers, visibility. Items of a trait are as visible as the trait.
[(attribute_item) (inner_attribute_item)] @decorator
(visibility_modifier) @modifier
(function_modifiers ["async" "const" "unsafe" "default"] @modifier)
(extern_modifier "extern" @modifier)
[(impl_item "unsafe" @modifier) (trait_item "unsafe" @modifier) (foreign_mod_item "unsafe" @modifier)]
(static_item (mutable_specifier) @modifier)
(visibility_modifier) @visibility
((mod_item . "mod" @visibility body: (_)) (#set! value "private"))
((trait_item (visibility_modifier) body: (declaration_list (const_item "const" @visibility))) (#set! value "pub"))
((impl_item trait: (_) body: (declaration_list (const_item "const" @visibility))) (#set! value "pub"))
((impl_item trait: (_) body: (declaration_list (function_item "fn" @visibility))) (#set! value "pub"))
((trait_item (visibility_modifier) body: (declaration_list [(function_item "fn" @visibility) (function_signature_item "fn" @visibility)]))
  (#set! value "pub"))

; Traits: supertraits, and traits that a type implements (except with `impl !Send`).
(trait_item bounds: (trait_bounds [
  (type_identifier) @extends
  (scoped_type_identifier name: (_) @extends) @extends
  (generic_type type: [(type_identifier) @extends (scoped_type_identifier name: (_) @extends) @extends])
]))
((impl_item trait: [
  (type_identifier) @implements
  (scoped_type_identifier name: (_) @implements) @implements
  (generic_type type: [(type_identifier) @implements (scoped_type_identifier name: (_) @implements) @implements])
]) @_impl (#not-match? @_impl "^(unsafe )?impl *(<[^{]*> *)?!"))
((attribute (identifier) @_derive arguments: (token_tree (identifier) @implements)) (#eq? @_derive "derive") (#match? @implements "^[A-Z]"))

; Imports and exports.
(use_declaration argument: (_) @import)
(extern_crate_declaration name: (identifier) @import)
(mod_item name: (identifier) @import !body)
[
  (function_item (visibility_modifier) name: (_) @export)
  (struct_item (visibility_modifier) name: (_) @export)
  (union_item (visibility_modifier) name: (_) @export)
  (enum_item (visibility_modifier) name: (_) @export)
  (trait_item (visibility_modifier) name: (_) @export)
  (type_item (visibility_modifier) name: (_) @export)
  (const_item (visibility_modifier) name: (_) @export)
  (static_item (visibility_modifier) name: (_) @export)
  (mod_item (visibility_modifier) name: (_) @export)
]
(use_declaration (visibility_modifier) argument: [
  (identifier) @export
  (scoped_identifier name: (_) @export)
  (use_as_clause alias: (_) @export)
  (use_list [(identifier) @export (scoped_identifier name: (_) @export) (use_as_clause alias: (_) @export)])
  (scoped_use_list list: (use_list [(identifier) @export (scoped_identifier name: (_) @export) (use_as_clause alias: (_) @export)]))
])

; Asynchronous code, generators. An `async` block or closure makes the function around it asynchronous.
(function_modifiers "async" @async)
(async_block) @async
(closure_expression "async" @async)
(await_expression . (call_expression function: (_) @await))
(await_expression . (macro_invocation macro: (_) @await))
(await_expression . [(identifier) (field_expression)] @await)
[(yield_expression) (gen_block)] @generator
(yield_expression (_) @yield)

; Calls. Macros contain only tokens: a name directly before brackets is a call.
(call_expression function: (_) @call arguments: (arguments) @arguments)
(macro_invocation macro: (_) @call (token_tree) @arguments)
(macro_invocation (token_tree (identifier) @call . (token_tree "(") @arguments))
(macro_invocation (token_tree (token_tree (identifier) @call . (token_tree "(") @arguments)))
(macro_invocation (token_tree (token_tree (token_tree (identifier) @call . (token_tree "(") @arguments))))
(macro_rule right: (token_tree (identifier) @call . (token_tree "(") @arguments))
(macro_rule right: (token_tree (token_tree (identifier) @call . (token_tree "(") @arguments)))

; Throws: panics, arguments of `Err`, and converted errors.
((macro_invocation macro: [(identifier) @throw (scoped_identifier name: (identifier) @throw)])
  (#any-of? @throw "panic" "unreachable" "todo" "unimplemented" "bail" "ensure"))
((call_expression function: (identifier) @_err arguments: (arguments . [
  (identifier) @throw
  (scoped_identifier) @throw
  (field_expression) @throw
  (struct_expression name: (_) @throw)
  (call_expression function: [(identifier) (scoped_identifier) (field_expression)] @throw)
  (macro_invocation macro: (_) @throw)
])) (#eq? @_err "Err") (#not-match? @throw "^[\"(]"))
((call_expression function: (field_expression field: (field_identifier) @_turn) arguments: (arguments . [
  (scoped_identifier) @throw
  (struct_expression name: (_) @throw)
  (call_expression function: (scoped_identifier) @throw)
  (closure_expression body: [
    (scoped_identifier) @throw
    (struct_expression name: (_) @throw)
    (call_expression function: (scoped_identifier) @throw)
    (macro_invocation macro: (_) @throw)
  ])
])) (#any-of? @_turn "ok_or" "ok_or_else" "map_err"))

; Assignments and bindings. In a pattern, a name with a capital letter is compared and not bound.
(let_declaration pattern: (identifier) @target value: (_) @value)
((let_declaration pattern: [
  (tuple_pattern [(identifier) @target (_ (identifier) @target .)])
  (tuple_struct_pattern type: (_) [(identifier) @target (_ (identifier) @target .) (tuple_pattern (identifier) @target)])
  (struct_pattern (field_pattern [(shorthand_field_identifier) @target pattern: (identifier) @target]))
  (slice_pattern (identifier) @target)
  (reference_pattern (identifier) @target)
  (captured_pattern . (identifier) @target)
] value: (_) @value) (#not-match? @target "^[A-Z]"))
((let_condition pattern: [
  (identifier) @target
  (tuple_pattern [(identifier) @target (_ (identifier) @target .)])
  (tuple_struct_pattern type: (_) [(identifier) @target (_ (identifier) @target .) (tuple_pattern (identifier) @target)])
  (tuple_struct_pattern type: (_) (struct_pattern (field_pattern [(shorthand_field_identifier) @target pattern: (identifier) @target])))
  (struct_pattern (field_pattern [(shorthand_field_identifier) @target pattern: (identifier) @target]))
  (slice_pattern (identifier) @target)
  (captured_pattern . (identifier) @target)
] value: (_) @value) (#not-match? @target "^[A-Z]"))
((for_expression pattern: [
  (identifier) @target
  (tuple_pattern [(identifier) @target (_ (identifier) @target .) (tuple_pattern (identifier) @target)])
  (reference_pattern [(identifier) @target (tuple_pattern (identifier) @target)])
  (struct_pattern (field_pattern [(shorthand_field_identifier) @target pattern: (identifier) @target]))
] value: (_) @value))
((match_expression value: (_) @value body: (match_block (match_arm pattern: (match_pattern . [
  (identifier) @target
  (tuple_pattern [(identifier) @target (_ (identifier) @target .)])
  (tuple_struct_pattern type: (_) [(identifier) @target (_ (identifier) @target .) (tuple_pattern (identifier) @target)])
  (tuple_struct_pattern type: (_) (struct_pattern (field_pattern [(shorthand_field_identifier) @target pattern: (identifier) @target])))
  (struct_pattern (field_pattern [(shorthand_field_identifier) @target pattern: (identifier) @target]))
  (slice_pattern (identifier) @target)
  (captured_pattern . (identifier) @target)
])))) (#not-match? @target "^[A-Z]"))
; Names deeper in a pattern are bound, but to no value with a name.
([
  (field_pattern pattern: (tuple_struct_pattern type: (_) (identifier) @target))
  (or_pattern (tuple_struct_pattern type: (_) [(identifier) @target (ref_pattern (identifier) @target)]))
  (match_pattern (reference_pattern (identifier) @target))
  (slice_pattern (captured_pattern . (identifier) @target))
] (#not-match? @target "^[A-Z]"))
(const_item name: (identifier) @target value: (_) @value)
(static_item name: (identifier) @target value: (_) @value)
(assignment_expression left: (_) @target right: (_) @value)
(compound_assignment_expr left: (_) @target right: (_) @value)

; Names.
[(identifier) (field_identifier) (shorthand_field_identifier)] @identifier
(type_identifier) @use
[
  (attribute (identifier) @use)
  (attribute (scoped_identifier (identifier) @use))
  (attribute arguments: (token_tree (identifier) @use))
  (attribute arguments: (token_tree (token_tree (identifier) @use)))
  (use_declaration argument: [(identifier) @use (scoped_identifier name: (identifier) @use)])
  (use_list [(identifier) @use (scoped_identifier name: (identifier) @use)])
  (scoped_use_list path: [(identifier) @use (scoped_identifier name: (identifier) @use)])
  (use_as_clause [(identifier) @use (scoped_identifier name: (identifier) @use)])
  (use_wildcard [(identifier) @use (scoped_identifier name: (identifier) @use)])
  (extern_crate_declaration (identifier) @use)
  (visibility_modifier (identifier) @use)
  (mod_item name: (identifier) @use)
  (scoped_identifier path: [(identifier) @use (scoped_identifier name: (identifier) @use)])
  (scoped_type_identifier path: [(identifier) @use (scoped_identifier name: (identifier) @use)])
  (lifetime (identifier) @use)
  (label (identifier) @use)
  (enum_variant name: (identifier) @use)
  (field_declaration name: (field_identifier) @use)
  (field_initializer field: (field_identifier) @use)
  (field_pattern name: (field_identifier) @use)
  (tuple_struct_pattern type: [(identifier) @use (scoped_identifier name: (identifier) @use)])
  (match_pattern (scoped_identifier name: (identifier) @use))
  (or_pattern (scoped_identifier name: (identifier) @use))
  (assignment_expression left: (field_expression field: (field_identifier) @use))
  (assignment_expression left: (tuple_expression (identifier) @use))
]

; Control flow; `?` counts as a branch, like a `catch`.
[(if_expression) (else_clause) (match_expression) (match_arm) (try_expression)] @branch
(let_declaration "else" @branch)
[(for_expression) (while_expression) (loop_expression)] @loop
(break_expression) @break
(continue_expression) @continue
(return_expression) @return

; Comments and lint rules.
[(line_comment) (block_comment)] @comment
((match_arm pattern: (match_pattern (tuple_struct_pattern type: (identifier) @_err)) value: [(block "{" . "}") (unit_expression)]) @lint
  (#eq? @_err "Err") (#set! value "empty-catch"))
((match_arm pattern: (match_pattern (tuple_struct_pattern type: (identifier) @_err)) value: (block "{" . [(line_comment) (block_comment)]+ . "}")) @lint
  (#eq? @_err "Err") (#set! value "empty-catch"))
((if_expression condition: (let_condition pattern: (tuple_struct_pattern type: (identifier) @_err)) consequence: (block "{" . "}")) @lint
  (#eq? @_err "Err") (#set! value "empty-catch"))
((block (expression_statement [(return_expression) (break_expression) (continue_expression)]) . [
  (expression_statement) (let_declaration) (call_expression) (identifier) (macro_invocation)
] @lint) (#set! value "unreachable-code"))
((macro_invocation macro: (identifier) @lint) (#eq? @lint "dbg") (#set! value "debug-macro"))
((static_item (mutable_specifier)) @lint (#set! value "static-mut"))
((binary_expression operator: ["==" "!="] right: (boolean_literal)) @lint (#set! value "bool-comparison"))
