; What TypeScript and TSX code does. javascript/facts.scm runs parallel to it. Only the TSX grammar knows the kinds of
; JSX: patterns for it start at `_` and are told by the brackets.
;! default-visibility public

; Parameters of definitions, not of types of functions
(arrow_function parameter: (identifier) @param)
(function_declaration parameters: (formal_parameters [
  (required_parameter pattern: [(identifier) @param (rest_pattern (identifier) @param)])
  (optional_parameter pattern: (identifier) @param)]))
(function_expression parameters: (formal_parameters [
  (required_parameter pattern: [(identifier) @param (rest_pattern (identifier) @param)])
  (optional_parameter pattern: (identifier) @param)]))
(arrow_function parameters: (formal_parameters [
  (required_parameter pattern: [(identifier) @param (rest_pattern (identifier) @param)])
  (optional_parameter pattern: (identifier) @param)]))
(generator_function_declaration parameters: (formal_parameters [
  (required_parameter pattern: [(identifier) @param (rest_pattern (identifier) @param)])
  (optional_parameter pattern: (identifier) @param)]))
(generator_function parameters: (formal_parameters [
  (required_parameter pattern: [(identifier) @param (rest_pattern (identifier) @param)])
  (optional_parameter pattern: (identifier) @param)]))
(method_definition parameters: (formal_parameters [
  (required_parameter pattern: [(identifier) @param (rest_pattern (identifier) @param)])
  (optional_parameter pattern: (identifier) @param)]))
(method_signature parameters: (formal_parameters [
  (required_parameter pattern: [(identifier) @param (rest_pattern (identifier) @param)])
  (optional_parameter pattern: (identifier) @param)]))
(abstract_method_signature parameters: (formal_parameters [
  (required_parameter pattern: [(identifier) @param (rest_pattern (identifier) @param)])
  (optional_parameter pattern: (identifier) @param)]))
(function_signature parameters: (formal_parameters [
  (required_parameter pattern: [(identifier) @param (rest_pattern (identifier) @param)])
  (optional_parameter pattern: (identifier) @param)]))
; Of destructured ones the names they bind
(required_parameter pattern: (object_pattern [
  (shorthand_property_identifier_pattern) @param
  (object_assignment_pattern left: (shorthand_property_identifier_pattern) @param)
  (pair_pattern value: [(identifier) @param (assignment_pattern left: (identifier) @param)])
  (pair_pattern value: [
    (object_pattern (shorthand_property_identifier_pattern) @param)
    (assignment_pattern left: (object_pattern (shorthand_property_identifier_pattern) @param))])
  (rest_pattern (identifier) @param)]))
(required_parameter pattern: (array_pattern [
  (identifier) @param
  (assignment_pattern left: (identifier) @param)
  (rest_pattern (identifier) @param)]))

; Declared types
(required_parameter type: (type_annotation) @type)
(optional_parameter type: (type_annotation) @type)
(variable_declarator type: (type_annotation) @type)
(public_field_definition type: (type_annotation) @type)
(property_signature type: (type_annotation) @type)
(function_declaration return_type: (_) @return_type)
(function_expression return_type: (_) @return_type)
(arrow_function return_type: (_) @return_type)
(generator_function_declaration return_type: (_) @return_type)
(generator_function return_type: (_) @return_type)
(method_definition return_type: (_) @return_type)
(method_signature return_type: (_) @return_type)
(abstract_method_signature return_type: (_) @return_type)
(function_signature return_type: (_) @return_type)

; Types that values give away
([(variable_declarator value: [(string) (template_string)] @inferred)
  (assignment_pattern right: [(string) (template_string)] @inferred)
  (required_parameter value: [(string) (template_string)] @inferred)
  (object_assignment_pattern right: [(string) (template_string)] @inferred)
  (assignment_expression right: [(string) (template_string)] @inferred)
  (public_field_definition value: [(string) (template_string)] @inferred)]
  (#set! value "string"))
([(variable_declarator value: (number) @inferred)
  (assignment_pattern right: (number) @inferred)
  (required_parameter value: (number) @inferred)
  (object_assignment_pattern right: (number) @inferred)
  (assignment_expression right: (number) @inferred)
  (public_field_definition value: (number) @inferred)]
  (#set! value "number"))
([(variable_declarator value: [(true) (false)] @inferred)
  (assignment_pattern right: [(true) (false)] @inferred)
  (required_parameter value: [(true) (false)] @inferred)
  (object_assignment_pattern right: [(true) (false)] @inferred)
  (assignment_expression right: [(true) (false)] @inferred)
  (public_field_definition value: [(true) (false)] @inferred)]
  (#set! value "boolean"))
([(variable_declarator value: (array) @inferred)
  (assignment_pattern right: (array) @inferred)
  (required_parameter value: (array) @inferred)
  (object_assignment_pattern right: (array) @inferred)
  (assignment_expression right: (array) @inferred)
  (public_field_definition value: (array) @inferred)]
  (#set! value "array"))
([(variable_declarator value: (object) @inferred)
  (assignment_pattern right: (object) @inferred)
  (required_parameter value: (object) @inferred)
  (object_assignment_pattern right: (object) @inferred)
  (assignment_expression right: (object) @inferred)
  (public_field_definition value: (object) @inferred)]
  (#set! value "object"))
([(variable_declarator value: (regex) @inferred)
  (assignment_expression right: (regex) @inferred)
  (public_field_definition value: (regex) @inferred)]
  (#set! value "RegExp"))
(variable_declarator value: (new_expression constructor: [(identifier) (member_expression)] @inferred))
(assignment_pattern right: (new_expression constructor: [(identifier) (member_expression)] @inferred))
(required_parameter value: (new_expression constructor: [(identifier) (member_expression)] @inferred))
(object_assignment_pattern right: (new_expression constructor: [(identifier) (member_expression)] @inferred))
(assignment_expression right: (new_expression constructor: [(identifier) (member_expression)] @inferred))
(public_field_definition value: (new_expression constructor: [(identifier) (member_expression)] @inferred))
(variable_declarator value: [(as_expression (_) . (_) @inferred) (satisfies_expression (_) . (_) @inferred)])

; What is given back
(return_statement [(expression) (sequence_expression)]) @returns
(arrow_function body: (expression) @returns)

; Decorators and modifiers
(decorator) @decorator
[(accessibility_modifier) (override_modifier)] @modifier
(method_definition ["static" "async" "get" "set" "readonly"] @modifier)
(public_field_definition ["static" "readonly" "abstract" "declare" "accessor"] @modifier)
(property_signature "readonly" @modifier)
(required_parameter "readonly" @modifier)
(optional_parameter "readonly" @modifier)
(abstract_class_declaration "abstract" @modifier)
(abstract_method_signature "abstract" @modifier)
(ambient_declaration "declare" @modifier)
(enum_declaration "const" @modifier)
(function_declaration "async" @modifier)
(generator_function_declaration "async" @modifier)
(function_expression "async" @modifier)
(arrow_function "async" @modifier)
(export_statement "export" @modifier declaration: (_))
(export_statement "default" @modifier)

; Visibility; that of a parameter is not the constructor's.
(method_definition (accessibility_modifier) @visibility)
(method_signature (accessibility_modifier) @visibility)
(abstract_method_signature (accessibility_modifier) @visibility)
(public_field_definition (accessibility_modifier) @visibility)
([(method_definition name: (private_property_identifier) @visibility)
  (public_field_definition name: (private_property_identifier) @visibility)]
  (#set! value "private"))

; Base classes and interfaces; of a mixin's call the mixin and what it is laid over.
(extends_clause value: [(identifier) (member_expression)] @extends)
(extends_clause value: (call_expression function: (_) @extends))
(extends_clause value: (call_expression arguments: (arguments [(identifier) (member_expression)] @extends)))
(extends_type_clause type: [(type_identifier) @extends (nested_type_identifier) @extends (generic_type name: (_) @extends)])
(implements_clause [(type_identifier) @implements (nested_type_identifier) @implements (generic_type name: (_) @implements)])

; Imports
(import_statement source: (string) @import)
(import_require_clause source: (string) @import)
(export_statement source: (string) @import)
(call_expression function: (import) arguments: (arguments . [(string) (template_string . (string_fragment) .)] @import))
((call_expression function: (identifier) @_require arguments: (arguments . [(string) (template_string . (string_fragment) .)] @import))
  (#eq? @_require "require"))

; Exports
(export_statement declaration: (_ name: [(identifier) (type_identifier)] @export))
(export_statement declaration: (ambient_declaration (_ name: [(identifier) (type_identifier)] @export)))
(export_statement declaration: (ambient_declaration (_ (variable_declarator name: (identifier) @export))))
(export_statement declaration: (_ (variable_declarator name: (identifier) @export)))
(export_statement declaration: (_ (variable_declarator name: (object_pattern [
  (shorthand_property_identifier_pattern) @export
  (pair_pattern value: (identifier) @export)]))))
(export_statement declaration: (_ (variable_declarator name: (array_pattern (identifier) @export))))
(export_statement "default" @export)
(export_statement value: (identifier) @export)
(export_statement "=" . (identifier) @export)
(export_specifier name: (_) @export !alias)
(export_specifier alias: (_) @export)
(namespace_export (_) @export)
((assignment_expression left: (member_expression) @_exports right: [
  (identifier) @export
  (function_expression name: (identifier) @export)
  (class name: (type_identifier) @export)
  (object [(shorthand_property_identifier) @export (pair key: [(property_identifier) (string)] @export) (method_definition name: (property_identifier) @export)])])
  (#eq? @_exports "module.exports"))
((assignment_expression left: (member_expression object: (_) @_exports property: (property_identifier) @export))
  (#any-of? @_exports "exports" "module.exports"))

; Asynchronous: definitions, and callbacks that no definition is around.
(function_declaration "async" @async)
(generator_function_declaration "async" @async)
(method_definition "async" @async)
(variable_declarator value: [(arrow_function "async" @async) (function_expression "async" @async) (generator_function "async" @async)])
(assignment_expression right: [(arrow_function "async" @async) (function_expression "async" @async)])
(public_field_definition value: [(arrow_function "async" @async) (function_expression "async" @async)])
(pair value: [(arrow_function "async" @async) (function_expression "async" @async)])
(export_statement value: [(arrow_function "async" @async) (function_expression "async" @async)])
(program (expression_statement (call_expression arguments: (arguments [
  (arrow_function "async" @async)
  (function_expression "async" @async)
  (arrow_function body: (statement_block (expression_statement (call_expression arguments: (arguments [
    (arrow_function "async" @async)
    (function_expression "async" @async)])))))]))))
(program (expression_statement (call_expression function: (parenthesized_expression (arrow_function "async" @async)))))

; Generators
(generator_function_declaration) @generator
(method_definition "*" @generator)
(variable_declarator value: (generator_function) @generator)

; Calls; a component's element calls the component.
(call_expression function: [(identifier) (member_expression) (subscript_expression) (call_expression) (super) (non_null_expression)] @call arguments: (_) @arguments)
; `await f<T>(x)` is read as `(await f)<T>(x)`.
(call_expression function: (await_expression [(identifier) (member_expression)] @call) arguments: (_) @arguments)
(call_expression function: (member_expression object: [(string) (template_string) (regex)] property: (property_identifier) @call) arguments: (_) @arguments)
(new_expression constructor: (_) @call arguments: (arguments)? @arguments)
((_ . "<" . name: [(identifier) (member_expression)] @call) (#match? @call "^[A-Z]|[.]"))

; Throws; a rejected promise throws where it is awaited.
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

; Assignments. Of destructuring every bound name is a target; its value is the whole, as it is no alias of it.
(variable_declarator name: (identifier) @target value: (_) @value)
(import_alias . (identifier) @target (_) @value)
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
(public_field_definition name: (property_identifier) @target value: (_) @value)
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

; Names that are read, and names that are no values
[(identifier) (property_identifier) (private_property_identifier) (shorthand_property_identifier)] @identifier
(statement_identifier) @use
(pair key: [(property_identifier) (private_property_identifier)] @use)
(public_field_definition name: [(property_identifier) (private_property_identifier)] @use)
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
(_ . "<" . name: (identifier) @use)
(_ name: [(identifier) @use (member_expression object: (identifier) @use property: (property_identifier) @use)] . ">" .)
(_ . (property_identifier) @use . "=")

; Names in types
(type_identifier) @use
(property_signature name: (property_identifier) @use)
(method_signature name: (property_identifier) @use)
(enum_assignment name: (property_identifier) @use)
(enum_body name: (property_identifier) @use)
(index_signature name: (identifier) @use)
(type_predicate name: (identifier) @use)
(asserts (identifier) @use)
(function_type parameters: (formal_parameters (_ pattern: [(identifier) @use (rest_pattern (identifier) @use)])))
(constructor_type parameters: (formal_parameters (_ pattern: (identifier) @use)))
(call_signature parameters: (formal_parameters (_ pattern: (identifier) @use)))
(construct_signature parameters: (formal_parameters (_ pattern: (identifier) @use)))
(nested_type_identifier module: (identifier) @use)
(import_require_clause (identifier) @use)
(internal_module name: (nested_identifier (_) @use))

; Control flow
[(if_statement) (else_clause) (ternary_expression)] @branch
[(switch_statement) (switch_case) (switch_default)] @branch
[(try_statement) (catch_clause) (finally_clause)] @branch
[(for_statement) (for_in_statement) (while_statement) (do_statement)] @loop
(break_statement) @break
(continue_statement) @continue
(return_statement) @return

; Comments
(comment) @comment

; Rules. What is hoisted may stand behind a return.
((catch_clause body: (statement_block . "{" . (comment)* . "}" .)) @lint (#set! value "empty-catch"))
([(return_statement) (throw_statement) (break_statement) (continue_statement)] . (comment)* . (statement) @lint
  (#not-match? @lint "^(async |function|var |class |abstract |type |interface |enum |declare |export |;)") (#set! value "unreachable-code"))
((binary_expression left: (_) @_left operator: ["==" "!="] @lint right: (_) @_right)
  (#not-any-of? @_left "null" "undefined") (#not-any-of? @_right "null" "undefined") (#set! value "loose-equality"))
((debugger_statement) @lint (#set! value "debugger-statement"))
((with_statement) @lint (#set! value "with-statement"))
((throw_statement [(string) (template_string) (number)]) @lint (#set! value "throw-literal"))
((if_statement condition: (parenthesized_expression . (assignment_expression) @lint)) (#set! value "assignment-in-condition"))
((finally_clause body: (statement_block [(return_statement) (break_statement) (continue_statement)] @lint)) (#set! value "unsafe-finally"))
((new_expression constructor: (identifier) @_promise arguments: (arguments . [(arrow_function "async" @lint) (function_expression "async" @lint)]))
  (#eq? @_promise "Promise") (#set! value "async-promise-executor"))
((_ . (property_identifier) @lint . "=") (#eq? @lint "dangerouslySetInnerHTML") (#set! value "dangerous-html"))
((predefined_type "any") @lint (#set! value "explicit-any"))
((comment) @lint (#match? @lint "^//\\s*@ts-(ignore|nocheck)") (#set! value "ts-ignore"))
