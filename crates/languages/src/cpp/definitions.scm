; Definitions of C++, including member declarations. The earliest pattern wins for a name.
(function_definition declarator: [
  (function_declarator declarator: (qualified_identifier) @name)
  (pointer_declarator declarator: (function_declarator declarator: (qualified_identifier) @name))
  (reference_declarator (function_declarator declarator: (qualified_identifier) @name))
]) @definition.method
(function_definition declarator: [
  (function_declarator declarator: [(identifier) (field_identifier) (destructor_name) (operator_name)] @name)
  (pointer_declarator declarator: (function_declarator declarator: [(identifier) (field_identifier) (operator_name)] @name))
  (reference_declarator (function_declarator declarator: [(identifier) (field_identifier) (operator_name)] @name))
]) @definition.function
(field_declaration declarator: [
  (function_declarator declarator: [(field_identifier) (operator_name)] @name)
  (pointer_declarator declarator: (function_declarator declarator: [(field_identifier) (operator_name)] @name))
  (reference_declarator (function_declarator declarator: [(field_identifier) (operator_name)] @name))
]) @definition.method
; Operators that convert to a type: `operator bool`. Their node has the parameters, too.
([
  (function_definition declarator: [
    (operator_cast)
    (qualified_identifier name: (operator_cast))
    (qualified_identifier name: (qualified_identifier name: (operator_cast)))
  ] @name)
  (declaration declarator: (operator_cast) @name)
]) @definition.method
(class_specifier name: (_) @name body: (_)) @definition.class
(struct_specifier name: (_) @name body: (_)) @definition.struct
(union_specifier name: (_) @name body: (_)) @definition.struct
(enum_specifier name: (_) @name body: (_)) @definition.enum
(namespace_definition name: (_) @name) @definition.module
(concept_definition name: (identifier) @name) @definition.type
(alias_declaration name: (type_identifier) @name) @definition.type
(type_definition type: (struct_specifier body: (_)) declarator: (type_identifier) @name) @definition.struct
(type_definition declarator: (type_identifier) @name) @definition.type
(type_definition type: [(struct_specifier) (union_specifier) (enum_specifier)] @wrapped) @wrapper
(template_declaration [
  (function_definition) (class_specifier) (struct_specifier) (alias_declaration) (concept_definition)
] @wrapped) @wrapper
(preproc_function_def name: (identifier) @name) @definition.function
(preproc_def name: (identifier) @name value: (_)) @definition.variable
(translation_unit (declaration declarator: (init_declarator declarator: [
  (identifier) @name
  (array_declarator declarator: (identifier) @name)])) @definition.variable)

(enumerator name: (identifier) @name) @member.variable

(comment) @leading
