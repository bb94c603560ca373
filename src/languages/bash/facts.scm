; What Bash code does.

; A function's arguments have no names until it gives them some: `local target=$1`
(declaration_command (variable_assignment name: (variable_name) @param value: [
  (simple_expansion (variable_name) @_position)
  (expansion . (variable_name) @_position)
  (string . (simple_expansion (variable_name) @_position) .)
  (string . (expansion . (variable_name) @_position) .)
]) (#match? @_position "^[1-9]$"))

; What values tell of their type
((variable_assignment value: [(string) (raw_string) (ansi_c_string) (word)] @inferred) (#set! value "string"))
((variable_assignment value: (number) @inferred) (#set! value "int"))
((variable_assignment value: (array) @inferred) (#set! value "array"))

; Keywords before a declaration
(declaration_command ["readonly" "local" "export" "declare" "typeset"] @modifier)
(declaration_command "export" [(variable_name) @export (variable_assignment name: (variable_name) @export)])

; Files that are read in
((command name: (command_name) @_source . argument: [(word) (string) (raw_string) (concatenation)] @import)
  (#any-of? @_source "source" "."))

; Commands. The grammar has no list of arguments: the whole command stands for it.
((command name: (command_name (word)) @call) @arguments
  (#not-any-of? @call "return" "break" "continue" "." ":"))

; Assignments. A bare word is a text, not another name.
(variable_assignment name: [(variable_name) (subscript)] @target value: [
  (simple_expansion) (expansion) (string) (raw_string) (ansi_c_string) (number) (array)
  (command_substitution) (arithmetic_expansion) (concatenation) (process_substitution)
] @value)
(variable_assignment name: [(variable_name) (subscript)] @target value: (word))
(variable_assignment name: [(variable_name) (subscript)] @target . "=" .)
(for_statement variable: (variable_name) @target
  value: [(simple_expansion) (expansion) (string) (command_substitution) (concatenation)] @value)
(for_statement variable: (variable_name) @target)
(postfix_expression . [(variable_name) (word) (subscript)] @target)
((command name: (command_name) @_read argument: (word) @target)
  (#any-of? @_read "read" "mapfile" "readarray") (#match? @target "^[A-Za-z_][A-Za-z0-9_]*$"))
((command name: (command_name) @_getopts . argument: (_) . argument: (word) @target) (#eq? @_getopts "getopts"))
((command name: (command_name) @_printf . argument: (word) @_into . argument: (word) @target)
  (#eq? @_printf "printf") (#eq? @_into "-v"))

; Identifiers
(variable_name) @identifier
(variable_assignment name: (variable_name) @use)
(variable_assignment name: (subscript name: (variable_name) @use))
(declaration_command (variable_name) @use)
(unset_command (variable_name) @use)

; Control flow
[(if_statement) (elif_clause) (else_clause) (case_statement) (case_item) (ternary_expression)] @branch
[(for_statement) (c_style_for_statement) (while_statement)] @loop
((command name: (command_name) @break) (#eq? @break "break"))
((command name: (command_name) @continue) (#eq? @continue "continue"))
((command name: (command_name) @return) (#eq? @return "return"))

((comment) @comment (#not-match? @comment "^#!"))

; Rules
([
  (compound_statement (command name: (command_name) @_leave) . (_) @lint)
  (do_group (command name: (command_name) @_leave) . (_) @lint)
] (#any-of? @_leave "return" "exit" "break" "continue") (#not-match? @lint "^(#|function |[a-zA-Z_]\\w* *\\(\\))")
  (#set! value "unreachable-code"))
((command name: (command_name) @lint) (#eq? @lint "eval") (#set! value "eval"))
((command_substitution . "`") @lint (#set! value "backticks"))
