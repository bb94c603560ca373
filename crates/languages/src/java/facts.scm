; Facts of Java.
;! supertype statement assert_statement block break_statement continue_statement annotation_type_declaration
;! supertype statement class_declaration enum_declaration import_declaration interface_declaration module_declaration
;! supertype statement package_declaration record_declaration do_statement enhanced_for_statement expression_statement
;! supertype statement for_statement if_statement labeled_statement local_variable_declaration return_statement
;! supertype statement switch_expression synchronized_statement throw_statement try_statement
;! supertype statement try_with_resources_statement while_statement yield_statement
;! default-visibility public in interface
;! default-visibility package

; Parameters and declared types
(formal_parameter name: (identifier) @param)
(spread_parameter (variable_declarator name: (identifier) @param))
(lambda_expression parameters: (identifier) @param)
(inferred_parameters (identifier) @param)
(formal_parameter type: (_) @type)
(spread_parameter [(type_identifier) (generic_type) (scoped_type_identifier) (integral_type) (floating_point_type) (boolean_type) (array_type)] @type)
(field_declaration type: (_) @type)
(constant_declaration type: (_) @type)
((local_variable_declaration type: (_) @type) (#not-eq? @type "var"))
((enhanced_for_statement type: (_) @type) (#not-eq? @type "var"))
((resource type: (_) @type) (#not-eq? @type "var"))
(catch_type (_) @type)
(instanceof_expression right: (_) @type name: (identifier))
(type_pattern . (_) @type)
((record_pattern_component . (_) @type . (identifier)) (#not-eq? @type "var"))
(method_declaration type: (_) @return_type)
(annotation_type_element_declaration type: (_) @return_type)

; Types inferred from values
([(variable_declarator value: (string_literal) @inferred)
  (assignment_expression right: (string_literal) @inferred)]
  (#set! value "String"))
([(variable_declarator value: [(decimal_integer_literal) (hex_integer_literal) (binary_integer_literal) (octal_integer_literal)] @inferred)
  (assignment_expression right: [(decimal_integer_literal) (hex_integer_literal) (binary_integer_literal) (octal_integer_literal)] @inferred)]
  (#not-match? @inferred "[lL]$") (#set! value "int"))
([(variable_declarator value: [(decimal_integer_literal) (hex_integer_literal) (binary_integer_literal)] @inferred)
  (assignment_expression right: [(decimal_integer_literal) (hex_integer_literal) (binary_integer_literal)] @inferred)]
  (#match? @inferred "[lL]$") (#set! value "long"))
([(variable_declarator value: (decimal_floating_point_literal) @inferred)
  (assignment_expression right: (decimal_floating_point_literal) @inferred)]
  (#not-match? @inferred "[fF]$") (#set! value "double"))
([(variable_declarator value: (decimal_floating_point_literal) @inferred)
  (assignment_expression right: (decimal_floating_point_literal) @inferred)]
  (#match? @inferred "[fF]$") (#set! value "float"))
([(variable_declarator value: [(true) (false)] @inferred)
  (assignment_expression right: [(true) (false)] @inferred)]
  (#set! value "boolean"))
([(variable_declarator value: (character_literal) @inferred)
  (assignment_expression right: (character_literal) @inferred)]
  (#set! value "char"))
([(variable_declarator value: [(array_initializer) (array_creation_expression)] @inferred)
  (assignment_expression right: (array_creation_expression) @inferred)]
  (#set! value "array"))
(variable_declarator value: (object_creation_expression type: [(type_identifier) @inferred (scoped_type_identifier) @inferred (generic_type . (_) @inferred)]))
(assignment_expression right: (object_creation_expression type: [(type_identifier) @inferred (scoped_type_identifier) @inferred (generic_type . (_) @inferred)]))
(resource value: (object_creation_expression type: [(type_identifier) @inferred (scoped_type_identifier) @inferred (generic_type . (_) @inferred)]))
(variable_declarator value: (cast_expression type: (_) @inferred))

; Return values
(return_statement (_)) @returns

; Annotations, modifiers, visibility. Members of an interface are public.
[(annotation) (marker_annotation)] @decorator
["public" "protected" "private" "abstract" "final" "native" "transient" "volatile" "strictfp" "sealed" "non-sealed"] @modifier
(modifiers ["static" "default" "synchronized"] @modifier)
["public" "protected" "private"] @visibility
; Constructors of enums are always private.
((enum_body_declarations (constructor_declaration name: (identifier) @visibility)) (#set! value "private"))

; Base classes and interfaces, without their type arguments
(superclass [(type_identifier) @extends (scoped_type_identifier) @extends (generic_type . (_) @extends)])
(extends_interfaces (type_list [(type_identifier) @extends (scoped_type_identifier) @extends (generic_type . (_) @extends)]))
(super_interfaces (type_list [(type_identifier) @implements (scoped_type_identifier) @implements (generic_type . (_) @implements)]))

; Imports and exports
(import_declaration [(scoped_identifier) (identifier)] @import)
(requires_module_directive module: (_) @import)
(exports_module_directive package: (_) @export)

; Calls: the grammar has no node for the callee, so the whole call is captured if there is a receiver.
(method_invocation !object name: (identifier) @call arguments: (_) @arguments)
(method_invocation object: (_) arguments: (_) @arguments) @call
(object_creation_expression type: [(type_identifier) @call (scoped_type_identifier) @call (generic_type . (_) @call)] arguments: (_) @arguments)
(explicit_constructor_invocation constructor: (_) @call arguments: (_) @arguments)

; Throws, including declared exceptions and those of an empty Optional
(throw_statement (object_creation_expression type: [(type_identifier) @throw (scoped_type_identifier) @throw (generic_type . (_) @throw)]))
(throw_statement [(identifier) (field_access) (method_invocation)] @throw)
(throws (_) @throw)
((method_invocation name: (identifier) @_or arguments: (argument_list [
  (method_reference . (_) @throw . "new")
  (lambda_expression body: (object_creation_expression type: (_) @throw))]))
  (#eq? @_or "orElseThrow"))

; Assignments
(variable_declarator name: (identifier) @target value: (_) @value)
(assignment_expression left: (_) @target operator: "=" right: (_) @value)
(assignment_expression left: (_) @target operator: ["+=" "-=" "*=" "/=" "%=" "&=" "|=" "^=" "<<=" ">>=" ">>>="]) @value
(enhanced_for_statement name: (identifier) @target value: (_) @value)
(resource name: (identifier) @target value: (_) @value)
(catch_formal_parameter name: (identifier) @target)
(update_expression [(identifier) (field_access) (array_access)] @target)
(instanceof_expression left: (_) @value name: (identifier) @target)
(type_pattern (identifier) @target)
(record_pattern_component (identifier) @target)

; Names that are read, and names that are not values
(identifier) @identifier
(type_identifier) @use
(method_invocation name: (identifier) @use)
(variable_declarator name: (identifier) @use !value)
(assignment_expression left: (field_access field: (identifier) @use) operator: "=")
(scoped_identifier (identifier) @use)
(import_declaration (identifier) @use)
(package_declaration (identifier) @use)
(annotation name: (identifier) @use)
(marker_annotation name: (identifier) @use)
(element_value_pair key: (identifier) @use)
(annotation_type_element_declaration name: (identifier) @use)
(enum_constant name: (identifier) @use)
(labeled_statement . (identifier) @use)
(break_statement (identifier) @use)
(continue_statement (identifier) @use)
(record_pattern . (identifier) @use)
(requires_module_directive module: (identifier) @use)
(exports_module_directive (identifier) @use)
(opens_module_directive (identifier) @use)
(provides_module_directive (identifier) @use)
(uses_module_directive (identifier) @use)

; Control flow
[(if_statement) (ternary_expression)] @branch
(if_statement "else" @branch)
[(switch_expression) (switch_label)] @branch
[(try_statement) (try_with_resources_statement) (catch_clause) (finally_clause)] @branch
[(for_statement) (enhanced_for_statement) (while_statement) (do_statement)] @loop
(break_statement) @break
(continue_statement) @continue
(return_statement) @return

; Comments
[(line_comment) (block_comment)] @comment

; Lint rules
((catch_clause body: (block . "{" . [(line_comment) (block_comment)]* . "}" .)) @lint (#set! value "empty-catch"))
; Only in a list of statements, because the branches of an `if` without braces are also adjacent.
([
  (block [(return_statement) (throw_statement) (break_statement) (continue_statement)] . [(line_comment) (block_comment)]* . (statement) @lint)
  (constructor_body [(return_statement) (throw_statement)] . [(line_comment) (block_comment)]* . (statement) @lint)
  (switch_block_statement_group
    [(return_statement) (throw_statement) (break_statement) (continue_statement)] . [(line_comment) (block_comment)]* . (statement) @lint)
] (#not-match? @lint "^;") (#set! value "unreachable-code"))
([(binary_expression left: (string_literal) operator: ["==" "!="] @lint)
  (binary_expression operator: ["==" "!="] @lint right: (string_literal))]
  (#set! value "string-identity"))
((catch_type (type_identifier) @lint) (#eq? @lint "Throwable") (#set! value "catch-throwable"))
((catch_clause body: (block (expression_statement (method_invocation name: (identifier) @lint))))
  (#eq? @lint "printStackTrace") (#set! value "print-stack-trace"))
((finally_clause (block [(return_statement) (throw_statement)] @lint)) (#set! value "unsafe-finally"))
((if_statement consequence: ";" @lint) (#set! value "empty-statement"))
