; Definitions of Swift. The earliest pattern wins for a name.
(class_declaration declaration_kind: "extension" name: (_) @name) @definition.impl
(class_declaration declaration_kind: "struct" name: (_) @name) @definition.struct
(class_declaration declaration_kind: "enum" name: (_) @name) @definition.enum
(class_declaration name: (_) @name) @definition.class
(protocol_declaration name: (_) @name) @definition.interface
(function_declaration name: (simple_identifier) @name) @definition.function
(function_declaration name: [(custom_operator) (bang) "==" "===" "!=" "!==" "<" ">" "<=" ">=" "+" "-" "*" "/" "%" "+=" "-=" "*=" "/=" "%=" "<<" ">>" "&" "|" "^" "~" "++" "--"] @name) @definition.function
(protocol_function_declaration name: [(custom_operator) (bang) "==" "===" "!=" "!==" "<" ">" "<=" ">=" "+" "-" "*" "/" "%" "+=" "-=" "*=" "/=" "%=" "<<" ">>" "&" "|" "^" "~" "++" "--"] @name) @definition.method
(protocol_function_declaration name: (simple_identifier) @name) @definition.method
(init_declaration name: "init" @name) @definition.method
(typealias_declaration name: (type_identifier) @name) @definition.type
(source_file (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @definition.variable)
(class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @definition.variable)

(enum_entry name: (simple_identifier) @name) @member.variable

[(comment) (multiline_comment)] @leading
