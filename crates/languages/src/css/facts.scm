; Facts of CSS.

(import_statement (string_value) @import)
(import_statement (call_expression (arguments [(string_value) (plain_value)] @import)))

(call_expression (function_name) @call (arguments) @arguments)

; Custom properties: `var(--main)` reads one; classes, ids, elements and properties are used.
((arguments (plain_value) @identifier) (#match? @identifier "^--"))
((property_name) @use (#match? @use "^--"))
[(class_name) (id_name) (keyframes_name)] @use
((declaration (property_name) @_name (plain_value) @use) (#any-of? @_name "animation" "animation-name"))
(at_rule (at_keyword) @decorator)

(comment) @comment
((rule_set (block . "{" . "}")) @lint (#set! value "empty-rule"))
((important) @lint (#set! value "important"))
