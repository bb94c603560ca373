; Colours of Kotlin, whose grammar comes without a query.
[(line_comment) (block_comment) (shebang)] @comment

[(string_literal) (multiline_string_literal) (character_literal)] @string
(escape_sequence) @escape
(interpolation) @embedded
[(number_literal) (float_literal)] @number

; The grammar reads these as names.
((identifier) @constant (#any-of? @constant "true" "false" "null"))
((identifier) @keyword (#any-of? @keyword "break" "continue"))
((identifier) @constant (#match? @constant "^[A-Z][A-Z0-9_]+$"))
(enum_entry (identifier) @constant)
(label) @label

[(this_expression) (super_expression)] @keyword
[
  "abstract" "actual" "annotation" "as" "as?" "by" "catch" "class" "companion" "const" "constructor"
  "crossinline" "data" "delegate" "do" "dynamic" "else" "enum" "expect" "external" "field" "file" "final" "finally" "for" "fun"
  "get" "if" "import" "in" "!in" "infix" "init" "inline" "inner" "interface" "internal" "is" "!is" "lateinit" "noinline" "object"
  "open" "operator" "out" "override" "package" "param" "private" "property" "protected" "public" "receiver" "return" "return@"
  "sealed" "set" "setparam" "suspend" "tailrec" "throw" "try" "typealias" "val" "value" "var" "vararg" "when" "where" "while"
] @keyword

(class_declaration name: (identifier) @type)
(object_declaration name: (identifier) @type)
(companion_object name: (identifier) @type)
(type_alias type: (identifier) @type)
(type_parameter (identifier) @type)
(user_type (identifier) @type)

(annotation "@" @attribute)
(annotation (user_type (identifier) @attribute))
(annotation (constructor_invocation (user_type (identifier) @attribute)))

(function_declaration name: (identifier) @function)
(call_expression . (identifier) @function)
(call_expression . (navigation_expression (identifier) @function .))
(navigation_expression (_) (identifier) @property .)
