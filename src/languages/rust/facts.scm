; What Rust code does.
;! default-visibility private

(parameter pattern: (identifier) @param)
(parameter pattern: (mut_pattern (identifier) @param))
(self_parameter (self) @param)
(closure_parameters (identifier) @param)
(parameter type: (_) @type)
(field_declaration type: (_) @type)
(let_declaration type: (_) @type)
(const_item type: (_) @type)
(static_item type: (_) @type)
((let_declaration value: (string_literal)) @inferred (#set! value "&str"))
((let_declaration value: (integer_literal)) @inferred (#set! value "i32"))
((let_declaration value: (float_literal)) @inferred (#set! value "f64"))
((let_declaration value: (boolean_literal)) @inferred (#set! value "bool"))
(let_declaration value: (struct_expression name: (_) @inferred))
(let_declaration value: (call_expression function: (scoped_identifier path: (identifier) @inferred)) (#match? @inferred "^[A-Z]"))
(function_item return_type: (_) @return_type)
(function_signature_item return_type: (_) @return_type)
(return_expression (_)) @returns

(attribute_item) @decorator
(visibility_modifier) @visibility
(visibility_modifier) @modifier
(function_modifiers ["async" "const" "unsafe" "extern"] @modifier)
(mutable_specifier) @_mut
(function_modifiers "async" @async)
(async_block) @async

(impl_item trait: (_) @implements)
(trait_item bounds: (trait_bounds (_) @extends))

(use_declaration argument: (_) @import)
(extern_crate_declaration name: (identifier) @import)
(mod_item name: (identifier) @import !body)
(function_item (visibility_modifier) name: (identifier) @export)
(struct_item (visibility_modifier) name: (type_identifier) @export)
(enum_item (visibility_modifier) name: (type_identifier) @export)
(trait_item (visibility_modifier) name: (type_identifier) @export)
(use_declaration (visibility_modifier) argument: (_) @export)

(call_expression function: (_) @call arguments: (arguments) @arguments)
(macro_invocation macro: (_) @call (token_tree) @arguments)
(macro_invocation macro: (identifier) @throw (#any-of? @throw "panic" "unreachable" "todo" "unimplemented" "bail"))
(return_expression (call_expression function: (identifier) @_err arguments: (arguments . (_) @throw)) (#eq? @_err "Err"))
(await_expression . (_) @await)
(yield_expression) @generator

(let_declaration pattern: (_) @target value: (_) @value)
(assignment_expression left: (_) @target right: (_) @value)
(compound_assignment_expr left: (_) @target right: (_) @value)
(for_expression pattern: (_) @target value: (_) @value)
(let_condition pattern: (_) @target value: (_) @value)

[(identifier) (field_identifier) (shorthand_field_identifier)] @identifier
(type_identifier) @use

(if_expression) @branch
(else_clause) @branch
(match_expression) @branch
(match_arm) @branch
(try_expression) @branch
[(for_expression) (while_expression) (loop_expression)] @loop
(break_expression) @break
(continue_expression) @continue
(return_expression) @return

[(line_comment) (block_comment)] @comment
((block (expression_statement [(return_expression) (break_expression) (continue_expression)]) . [(expression_statement) (let_declaration)] @lint) (#set! value "unreachable-code"))
((match_arm pattern: (match_pattern (tuple_struct_pattern type: (identifier) @_err)) value: (block . "}" .)) @lint (#eq? @_err "Err") (#set! value "empty-catch"))
