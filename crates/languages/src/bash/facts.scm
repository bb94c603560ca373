; Facts of shell scripts.

; Types inferred from values
((variable_assignment value: (array) @inferred) (#set! value "array"))
((variable_assignment value: (number) @inferred) (#set! value "number"))
((variable_assignment value: [(string) (raw_string)] @inferred) (#set! value "string"))
(declaration_command ["local" "readonly" "export" "declare" "typeset"] @modifier)

; Imports and exports
((command name: (command_name (word) @_source) . argument: (_) @import)
  (#any-of? @_source "source" "."))
(declaration_command "export" [(variable_name) @export (variable_assignment name: (variable_name) @export)])

; Calls: the arguments are children of the command
((command name: (command_name) @call) @arguments
  (#not-any-of? @call "return" "break" "continue" "[" ":" "true" "false"))

; Assignments
(variable_assignment name: (_) @target value: (_) @value)
(for_statement variable: (_) @target . value: [(simple_expansion) (expansion) (string) (command_substitution) (concatenation)] @value)
(for_statement variable: (_) @target)
((command name: (command_name (word) @_read) argument: (word) @target)
  (#any-of? @_read "read" "mapfile" "readarray") (#match? @target "^[A-Za-z_]"))
(postfix_expression [(variable_name) (word)] @target)
((binary_expression left: (variable_name) @target operator: ["=" "+=" "-=" "*=" "/="] right: (_) @value))

; Identifiers: positional parameters have no names
((variable_name) @identifier (#match? @identifier "^[A-Za-z_]"))
[(declaration_command (variable_name) @use)
 (unset_command (variable_name) @use)
 (variable_assignment name: (subscript name: (variable_name) @use))]

; Control flow
[(if_statement) (elif_clause) (else_clause) (case_statement) (case_item)] @branch
[(for_statement) (c_style_for_statement) (while_statement)] @loop
((command name: (command_name) @break) (#eq? @break "break"))
((command name: (command_name) @continue) (#eq? @continue "continue"))
((command name: (command_name) @return) (#eq? @return "return"))

; Comments, except for the `#!` line
((comment) @comment (#not-match? @comment "^#!"))

; Lint rules
([(compound_statement (command name: (command_name) @_leave) . [
    (command) (variable_assignment) (declaration_command) (if_statement) (for_statement) (while_statement) (case_statement)
    (pipeline) (list) (redirected_statement)] @lint)
  (do_group (command name: (command_name) @_leave) . [
    (command) (variable_assignment) (declaration_command) (if_statement) (for_statement) (while_statement) (case_statement)
    (pipeline) (list) (redirected_statement)] @lint)]
  (#any-of? @_leave "return" "exit" "break" "continue") (#set! value "unreachable-code"))
((command_substitution . "`") @lint (#set! value "legacy-backticks"))
((for_statement value: (command_substitution (command name: (command_name) @_list))) @lint
  (#eq? @_list "ls") (#set! value "for-in-ls"))
