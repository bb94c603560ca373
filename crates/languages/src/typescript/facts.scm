; Facts of TypeScript and TSX, besides ../javascript/ecmascript.scm. Only the TSX grammar has the node kinds of
; JSX, so the patterns for it start with `_` and match the brackets.
;! supertype statement break_statement continue_statement debugger_statement abstract_class_declaration
;! supertype statement ambient_declaration class_declaration enum_declaration function_declaration function_signature
;! supertype statement generator_function_declaration import_alias interface_declaration internal_module
;! supertype statement lexical_declaration module type_alias_declaration variable_declaration do_statement
;! supertype statement empty_statement export_statement expression_statement for_in_statement for_statement
;! supertype statement if_statement import_statement labeled_statement return_statement statement_block
;! supertype statement switch_statement throw_statement try_statement while_statement with_statement
;! supertype expression as_expression assignment_expression augmented_assignment_expression await_expression
;! supertype expression binary_expression instantiation_expression internal_module jsx_element jsx_self_closing_element
;! supertype expression new_expression array arrow_function call_expression class false function_expression
;! supertype expression generator_function identifier member_expression meta_property non_null_expression null number
;! supertype expression object parenthesized_expression regex string subscript_expression super template_string this
;! supertype expression true undefined satisfies_expression ternary_expression type_assertion unary_expression
;! supertype expression update_expression yield_expression
;! default-visibility public

; Parameters of definitions, but not of function types
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

; For destructured parameters, the names they bind
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

; Types inferred from values
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
(required_parameter value: (new_expression constructor: [(identifier) (member_expression)] @inferred))
(public_field_definition value: (new_expression constructor: [(identifier) (member_expression)] @inferred))
(variable_declarator value: [(as_expression (_) . (_) @inferred) (satisfies_expression (_) . (_) @inferred)])

; Decorators and modifiers
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

; Visibility; that of a parameter is not that of the constructor.
(method_definition (accessibility_modifier) @visibility)
(method_signature (accessibility_modifier) @visibility)
(abstract_method_signature (accessibility_modifier) @visibility)
(public_field_definition (accessibility_modifier) @visibility)
([(method_definition name: (private_property_identifier) @visibility)
  (public_field_definition name: (private_property_identifier) @visibility)]
  (#set! value "private"))

; Base classes and interfaces; for the call of a mixin, the mixin and its base.
(extends_clause value: [(identifier) (member_expression)] @extends)
(extends_clause value: (call_expression function: (_) @extends))
(extends_clause value: (call_expression arguments: (arguments [(identifier) (member_expression)] @extends)))
(extends_type_clause type: [(type_identifier) @extends (nested_type_identifier) @extends (generic_type name: (_) @extends)])
(implements_clause [(type_identifier) @implements (nested_type_identifier) @implements (generic_type name: (_) @implements)])

; Imports
(import_require_clause source: (string) @import)

; Exports
(export_statement declaration: (_ name: [(identifier) (type_identifier)] @export))
(export_statement declaration: (ambient_declaration (_ name: [(identifier) (type_identifier)] @export)))
(export_statement declaration: (ambient_declaration (_ (variable_declarator name: (identifier) @export))))
(export_statement "=" . (identifier) @export)
((assignment_expression left: (member_expression) @_exports right: [
  (identifier) @export
  (function_expression name: (identifier) @export)
  (class name: (type_identifier) @export)
  (object [(shorthand_property_identifier) @export (pair key: [(property_identifier) (string)] @export) (method_definition name: (property_identifier) @export)])])
  (#eq? @_exports "module.exports"))

; A JSX element calls its component.
((_ . "<" . name: [(identifier) (member_expression)] @call) (#match? @call "^[A-Z]|[.]"))

; Assignments. With destructuring, every bound name is a target, without an alias: its value is a part of the whole.
(import_alias . (identifier) @target (_) @value)
(public_field_definition name: (property_identifier) @target value: (_) @value)

; Names that are read, and names that are not values
(public_field_definition name: [(property_identifier) (private_property_identifier)] @use)
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

; Comments
(comment) @comment

; Lint rules. Hoisted declarations may follow a `return`.
([
  (statement_block [(return_statement) (throw_statement) (break_statement) (continue_statement)] . (comment)* . (statement) @lint)
  (switch_case [(return_statement) (throw_statement) (break_statement) (continue_statement)] . (comment)* . (statement) @lint)
  (switch_default [(return_statement) (throw_statement) (break_statement) (continue_statement)] . (comment)* . (statement) @lint)
  (program (throw_statement) . (comment)* . (statement) @lint)
] (#not-match? @lint "^(async |function|var |class |abstract |type |interface |enum |declare |export |;)") (#set! value "unreachable-code"))
((_ . (property_identifier) @lint . "=") (#eq? @lint "dangerouslySetInnerHTML") (#set! value "dangerous-html"))
((predefined_type "any") @lint (#set! value "explicit-any"))
((comment) @lint (#match? @lint "^//\\s*@ts-(ignore|nocheck)") (#set! value "ts-ignore"))
