; Facts of JavaScript and JSX, besides those of ecmascript.scm.
;! default-visibility public

; Parameters; for destructured ones, the names they bind.
(formal_parameters (identifier) @param)
(formal_parameters [
  (assignment_pattern left: (identifier) @param)
  (rest_pattern (identifier) @param)])
(formal_parameters [(object_pattern [
  (shorthand_property_identifier_pattern) @param
  (object_assignment_pattern left: (shorthand_property_identifier_pattern) @param)
  (pair_pattern value: [(identifier) @param (assignment_pattern left: (identifier) @param)])
  (pair_pattern value: [
    (object_pattern (shorthand_property_identifier_pattern) @param)
    (assignment_pattern left: (object_pattern (shorthand_property_identifier_pattern) @param))])
  (rest_pattern (identifier) @param)])
  (assignment_pattern left: (object_pattern [
    (shorthand_property_identifier_pattern) @param
    (object_assignment_pattern left: (shorthand_property_identifier_pattern) @param)
    (pair_pattern value: [(identifier) @param (assignment_pattern left: (identifier) @param)])
    (rest_pattern (identifier) @param)]))])
(formal_parameters [
  (array_pattern [
    (identifier) @param
    (assignment_pattern left: (identifier) @param)
    (rest_pattern (identifier) @param)])
  (assignment_pattern left: (array_pattern (identifier) @param))])

; Types inferred from values
([(variable_declarator value: [(string) (template_string)] @inferred)
  (assignment_pattern right: [(string) (template_string)] @inferred)
  (object_assignment_pattern right: [(string) (template_string)] @inferred)
  (assignment_expression right: [(string) (template_string)] @inferred)
  (field_definition value: [(string) (template_string)] @inferred)]
  (#set! value "string"))
([(variable_declarator value: (number) @inferred)
  (assignment_pattern right: (number) @inferred)
  (object_assignment_pattern right: (number) @inferred)
  (assignment_expression right: (number) @inferred)
  (field_definition value: (number) @inferred)]
  (#set! value "number"))
([(variable_declarator value: [(true) (false)] @inferred)
  (assignment_pattern right: [(true) (false)] @inferred)
  (object_assignment_pattern right: [(true) (false)] @inferred)
  (assignment_expression right: [(true) (false)] @inferred)
  (field_definition value: [(true) (false)] @inferred)]
  (#set! value "boolean"))
([(variable_declarator value: (array) @inferred)
  (assignment_pattern right: (array) @inferred)
  (object_assignment_pattern right: (array) @inferred)
  (assignment_expression right: (array) @inferred)
  (field_definition value: (array) @inferred)]
  (#set! value "array"))
([(variable_declarator value: (object) @inferred)
  (assignment_pattern right: (object) @inferred)
  (object_assignment_pattern right: (object) @inferred)
  (assignment_expression right: (object) @inferred)
  (field_definition value: (object) @inferred)]
  (#set! value "object"))
([(variable_declarator value: (regex) @inferred)
  (assignment_expression right: (regex) @inferred)
  (field_definition value: (regex) @inferred)]
  (#set! value "RegExp"))
(field_definition value: (new_expression constructor: [(identifier) (member_expression)] @inferred))

; Decorators and modifiers
(method_definition ["static" "async" "get" "set" "static get"] @modifier)
(field_definition "static" @modifier)

; Visibility by convention: `#x` and `__x` are private, `_x` is protected, `__x__` is special.
([(method_definition name: (private_property_identifier) @visibility)
  (field_definition property: (private_property_identifier) @visibility)]
  (#set! value "private"))
([(method_definition name: (property_identifier) @visibility)
  (field_definition property: (property_identifier) @visibility)
  (function_declaration name: (identifier) @visibility)
  (generator_function_declaration name: (identifier) @visibility)
  (class_declaration name: (identifier) @visibility)
  (program [(lexical_declaration (variable_declarator name: (identifier) @visibility)) (variable_declaration (variable_declarator name: (identifier) @visibility))])
  (program (export_statement declaration: (lexical_declaration (variable_declarator name: (identifier) @visibility))))
  (variable_declarator name: (identifier) @visibility value: [(arrow_function) (function_expression) (generator_function) (class)])]
  (#match? @visibility "^_[^_]") (#set! value "protected"))
([(method_definition name: (property_identifier) @visibility)
  (field_definition property: (property_identifier) @visibility)
  (function_declaration name: (identifier) @visibility)
  (generator_function_declaration name: (identifier) @visibility)
  (class_declaration name: (identifier) @visibility)
  (program [(lexical_declaration (variable_declarator name: (identifier) @visibility)) (variable_declaration (variable_declarator name: (identifier) @visibility))])
  (program (export_statement declaration: (lexical_declaration (variable_declarator name: (identifier) @visibility))))
  (variable_declarator name: (identifier) @visibility value: [(arrow_function) (function_expression) (generator_function) (class)])]
  (#match? @visibility "^__.*([^_]|[^_]_)$") (#set! value "private"))

; Base classes; for the call of a mixin, the mixin and its base.
(class_heritage [(identifier) (member_expression)] @extends)
(class_heritage (call_expression function: (_) @extends))
(class_heritage (call_expression arguments: (arguments [(identifier) (member_expression)] @extends)))

; Exports
(export_statement declaration: (_ name: (identifier) @export))
((assignment_expression left: (member_expression) @_exports right: [
  (identifier) @export
  (function_expression name: (identifier) @export)
  (class name: (identifier) @export)
  (object [(shorthand_property_identifier) @export (pair key: [(property_identifier) (string)] @export) (method_definition name: (property_identifier) @export)])])
  (#eq? @_exports "module.exports"))

; A JSX element calls its component.
([(jsx_opening_element name: [(identifier) (member_expression)] @call)
  (jsx_self_closing_element name: [(identifier) (member_expression)] @call)]
  (#match? @call "^[A-Z]|[.]"))

; Assignments. With destructuring, every bound name is a target, without an alias: its value is a part of the whole.
(field_definition property: (property_identifier) @target value: (_) @value)

; Names that are read, and names that are not values
(field_definition property: [(property_identifier) (private_property_identifier)] @use)
(class name: (identifier) @use)
(jsx_attribute (property_identifier) @use)
(jsx_opening_element name: (identifier) @use)
(jsx_self_closing_element name: (identifier) @use)
(jsx_closing_element name: (identifier) @use)
(jsx_closing_element name: (member_expression object: (identifier) @use property: (property_identifier) @use))

; Comments
[(comment) (html_comment)] @comment

; Lint rules. Hoisted declarations may follow a `return`.
([
  (statement_block [(return_statement) (throw_statement) (break_statement) (continue_statement)] . (comment)* . (statement) @lint)
  (switch_case [(return_statement) (throw_statement) (break_statement) (continue_statement)] . (comment)* . (statement) @lint)
  (switch_default [(return_statement) (throw_statement) (break_statement) (continue_statement)] . (comment)* . (statement) @lint)
  (program (throw_statement) . (comment)* . (statement) @lint)
] (#not-match? @lint "^(async |function|var |class |;)") (#set! value "unreachable-code"))
((jsx_attribute . (property_identifier) @lint) (#eq? @lint "dangerouslySetInnerHTML") (#set! value "dangerous-html"))
