; Facts of JavaScript and TypeScript alike.

; Parameters; for destructured ones, the names they bind.
(arrow_function parameter: (identifier) @param)

; Types inferred from values
(variable_declarator value: (new_expression constructor: [(identifier) (member_expression)] @inferred))
(assignment_pattern right: (new_expression constructor: [(identifier) (member_expression)] @inferred))
(object_assignment_pattern right: (new_expression constructor: [(identifier) (member_expression)] @inferred))
(assignment_expression right: (new_expression constructor: [(identifier) (member_expression)] @inferred))

; Return values
(return_statement [(expression) (sequence_expression)]) @returns
(arrow_function body: (expression) @returns)

; Decorators and modifiers
(decorator) @decorator
(function_declaration "async" @modifier)
(generator_function_declaration "async" @modifier)
(function_expression "async" @modifier)
(arrow_function "async" @modifier)
(export_statement "export" @modifier declaration: (_))
(export_statement "default" @modifier)

; Imports
(import_statement source: (string) @import)
(export_statement source: (string) @import)
(call_expression function: (import) arguments: (arguments . [(string) (template_string . (string_fragment) .)] @import))
((call_expression function: (identifier) @_require arguments: (arguments . [(string) (template_string . (string_fragment) .)] @import))
  (#eq? @_require "require"))

; Exports
(export_statement declaration: (_ (variable_declarator name: (identifier) @export)))
(export_statement declaration: (_ (variable_declarator name: (object_pattern [
  (shorthand_property_identifier_pattern) @export
  (pair_pattern value: (identifier) @export)]))))
(export_statement declaration: (_ (variable_declarator name: (array_pattern (identifier) @export))))
(export_statement "default" @export)
(export_statement value: (identifier) @export)
(export_specifier name: (_) @export !alias)
(export_specifier alias: (_) @export)
(namespace_export (_) @export)
((assignment_expression left: (member_expression object: (_) @_exports property: (property_identifier) @export))
  (#any-of? @_exports "exports" "module.exports"))

; Asynchronous code. An anonymous function makes the definition around it asynchronous.
(function_declaration "async" @async)
(generator_function_declaration "async" @async)
(method_definition "async" @async)
[(arrow_function "async" @async) (function_expression "async" @async) (generator_function "async" @async)]

; Generators
(generator_function_declaration) @generator
(method_definition "*" @generator)
(variable_declarator value: (generator_function) @generator)

; Calls; a JSX element calls its component. `import()` is not a call.
((call_expression function: (_) @call arguments: (_) @arguments) (#not-eq? @call "import"))
(new_expression constructor: (_) @call arguments: (arguments)? @arguments)

; Throws, including rejected promises, which throw where they are awaited.
(throw_statement (new_expression constructor: (_) @throw))
(throw_statement (call_expression function: (_) @throw))
(throw_statement [(identifier) (member_expression) (string) (template_string)] @throw)
((call_expression function: (member_expression) @_reject arguments: (arguments . [(new_expression constructor: (_) @throw) (identifier) @throw]))
  (#eq? @_reject "Promise.reject"))

; Awaits and yields
(await_expression (call_expression function: (_) @await))
(await_expression (new_expression constructor: (_) @await))
(await_expression [(identifier) (member_expression) (subscript_expression)] @await)
(for_in_statement "await" right: [(identifier) @await (member_expression) @await (call_expression function: (_) @await)])
(yield_expression (expression) @yield)
((yield_expression) @yield (#eq? @yield "yield"))

; Assignments. With destructuring, every bound name is a target, without an alias: its value is a part of the whole.
(variable_declarator name: (identifier) @target value: (_) @value)
(variable_declarator name: (object_pattern [
  (shorthand_property_identifier_pattern) @target
  (object_assignment_pattern left: (shorthand_property_identifier_pattern) @target)
  (rest_pattern (identifier) @target)
  (pair_pattern value: [
    (identifier) @target
    (assignment_pattern left: (identifier) @target)
    (object_pattern [
      (shorthand_property_identifier_pattern) @target
      (object_assignment_pattern left: (shorthand_property_identifier_pattern) @target)
      (pair_pattern value: (identifier) @target)])
    (array_pattern (identifier) @target)])]) value: (_)) @value
(variable_declarator name: (array_pattern [
  (identifier) @target
  (assignment_pattern left: (identifier) @target)
  (rest_pattern (identifier) @target)
  (object_pattern [
    (shorthand_property_identifier_pattern) @target
    (pair_pattern value: (identifier) @target)])
  (array_pattern (identifier) @target)]) value: (_)) @value
(assignment_expression left: [(identifier) (member_expression) (subscript_expression)] @target right: (_) @value)
(assignment_expression left: (object_pattern [
  (shorthand_property_identifier_pattern) @target
  (object_assignment_pattern left: (shorthand_property_identifier_pattern) @target)
  (rest_pattern (identifier) @target)
  (pair_pattern value: [
    (identifier) @target
    (member_expression) @target
    (subscript_expression) @target
    (assignment_pattern left: [(identifier) (member_expression)] @target)])])) @value
(assignment_expression left: (array_pattern [
  (identifier) @target
  (member_expression) @target
  (subscript_expression) @target
  (assignment_pattern left: [(identifier) (member_expression)] @target)
  (rest_pattern (identifier) @target)])) @value
(augmented_assignment_expression left: (_) @target) @value
(update_expression argument: (_) @target)
(unary_expression operator: "delete" argument: [(member_expression) (subscript_expression)] @target)
(for_in_statement left: [(identifier) (member_expression) (subscript_expression)] @target right: (_) @value)
(for_in_statement left: [
  (object_pattern [
    (shorthand_property_identifier_pattern) @target
    (object_assignment_pattern left: (shorthand_property_identifier_pattern) @target)
    (rest_pattern (identifier) @target)
    (pair_pattern value: (identifier) @target)])
  (array_pattern [
    (identifier) @target
    (rest_pattern (identifier) @target)
    (object_pattern [(shorthand_property_identifier_pattern) @target (pair_pattern value: (identifier) @target)])])] right: (_) @value)
(catch_clause parameter: (identifier) @target)
(catch_clause parameter: (object_pattern [(shorthand_property_identifier_pattern) @target (pair_pattern value: (identifier) @target)]))

; Names that are read, and names that are not values
[(identifier) (property_identifier) (private_property_identifier) (shorthand_property_identifier)] @identifier
(statement_identifier) @use
(pair key: [(property_identifier) (private_property_identifier)] @use)
(variable_declarator name: (identifier) @use !value)
(function_expression name: (identifier) @use)
(generator_function name: (identifier) @use)
(import_clause (identifier) @use)
(namespace_import (identifier) @use)
(import_specifier [(identifier) (string)] @use)
(export_specifier [(identifier) (string)] @use)
(namespace_export (identifier) @use)
(array_pattern (identifier) @use)
(rest_pattern (identifier) @use)
(assignment_pattern left: (identifier) @use)
(pair_pattern value: (identifier) @use)
(assignment_expression left: (member_expression property: [(property_identifier) (private_property_identifier)] @use))

; Control flow
[(if_statement) (else_clause) (ternary_expression)] @branch
[(switch_statement) (switch_case) (switch_default)] @branch
[(try_statement) (catch_clause) (finally_clause)] @branch
[(for_statement) (for_in_statement) (while_statement) (do_statement)] @loop
(break_statement) @break
(continue_statement) @continue
(return_statement) @return

; Lint rules. Hoisted declarations may follow a `return`.
((catch_clause body: (statement_block . "{" . (comment)* . "}" .)) @lint (#set! value "empty-catch"))
((binary_expression left: (_) @_left operator: ["==" "!="] @lint right: (_) @_right)
  (#not-any-of? @_left "null" "undefined") (#not-any-of? @_right "null" "undefined") (#set! value "loose-equality"))
((debugger_statement) @lint (#set! value "debugger-statement"))
((with_statement) @lint (#set! value "with-statement"))
((throw_statement [(string) (template_string) (number)]) @lint (#set! value "throw-literal"))
((if_statement condition: (parenthesized_expression . (assignment_expression) @lint)) (#set! value "assignment-in-condition"))
((finally_clause body: (statement_block [(return_statement) (break_statement) (continue_statement)] @lint)) (#set! value "unsafe-finally"))
((new_expression constructor: (identifier) @_promise arguments: (arguments . [(arrow_function "async" @lint) (function_expression "async" @lint)]))
  (#eq? @_promise "Promise") (#set! value "async-promise-executor"))
