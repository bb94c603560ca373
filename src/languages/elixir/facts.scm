; What Elixir code does: nearly all of it is a call of something.
;! default-visibility public

; Parameters, types
((call target: (identifier) @_def (arguments . [
    (call (arguments [
    (identifier) @param
    (binary_operator left: (identifier) @param operator: "\\\\")
    (binary_operator operator: "=" right: (identifier) @param)
    (tuple (identifier) @param)]))
    (binary_operator left: (call (arguments [
    (identifier) @param
    (binary_operator left: (identifier) @param operator: "\\\\")
    (binary_operator operator: "=" right: (identifier) @param)
    (tuple (identifier) @param)])) operator: "when")]))
  (#any-of? @_def "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate"))
(anonymous_function (stab_clause left: (arguments [(identifier) @param (tuple (identifier) @param)])))
((unary_operator operator: "@" operand: (call target: (identifier) @_spec (arguments (binary_operator
    left: (call (arguments (_) @type)) operator: "::"))))
  (#any-of? @_spec "spec" "callback"))
((unary_operator operator: "@" operand: (call target: (identifier) @_spec (arguments (binary_operator
    left: (call) operator: "::" right: (_) @return_type))))
  (#any-of? @_spec "spec" "callback"))
((binary_operator left: (identifier) operator: "=" right: (string) @inferred) (#set! value "string"))
((binary_operator left: (identifier) operator: "=" right: (integer) @inferred) (#set! value "integer"))
((binary_operator left: (identifier) operator: "=" right: (float) @inferred) (#set! value "float"))
((binary_operator left: (identifier) operator: "=" right: (list) @inferred) (#set! value "list"))
((binary_operator left: (identifier) operator: "=" right: (map . (map_content)) @inferred) (#set! value "map"))
(binary_operator operator: "=" right: (map (struct (alias) @inferred)))

; Attributes of a function, visibility
((unary_operator operator: "@" operand: (call target: (identifier) @_attribute)) @decorator
  (#any-of? @_attribute "impl" "deprecated" "tag" "describetag" "moduletag" "dialyzer" "derive"))
((call target: (identifier) @visibility)
  (#any-of? @visibility "defp" "defmacrop" "defguardp") (#set! value "private"))

; Behaviours and protocols
((unary_operator operator: "@" operand: (call target: (identifier) @_behaviour (arguments (alias) @implements)))
  (#eq? @_behaviour "behaviour"))
((call target: (identifier) @_defimpl (arguments . (alias) @implements))
  (#eq? @_defimpl "defimpl"))

; Imports
((call target: (identifier) @_import (arguments . [(alias) (dot)] @import))
  (#any-of? @_import "alias" "import" "require" "use"))

; Calls; a local one by the places it can stand at, which the head of a definition and a type are not
((call target: (dot right: (identifier) @_name) @call (arguments) @arguments) (#not-eq? @_name "t"))
(call target: (dot left: (identifier) @call . ) (arguments) @arguments)
([(do_block (call target: (identifier) @call (arguments) @arguments))
  (else_block (call target: (identifier) @call (arguments) @arguments))
  (body (call target: (identifier) @call (arguments) @arguments))
  (pair value: (call target: (identifier) @call (arguments) @arguments))
  (tuple (call target: (identifier) @call (arguments) @arguments))
  (interpolation (call target: (identifier) @call (arguments) @arguments))
  (dot left: (call target: (identifier) @call (arguments) @arguments))
  (binary_operator left: (call target: (identifier) @call (arguments) @arguments) operator: ["=" "|>" "++" "--" "<>" "+" "-" "*" "/" "==" "!=" "===" "!==" "<" ">" "<=" ">=" "and" "or" "&&" "||" "in" "not in" "<-" "|" "=~" ".." "\\\\" "=>"])
  (binary_operator operator: ["=" "|>" "++" "--" "<>" "+" "-" "*" "/" "==" "!=" "===" "!==" "<" ">" "<=" ">=" "and" "or" "&&" "||" "in" "not in" "<-" "|" "when" "=~" ".." "\\\\" "=>"] right: (call target: (identifier) @call (arguments) @arguments))
  (unary_operator operator: ["!" "not" "-"] operand: (call target: (identifier) @call (arguments) @arguments))]
  (#not-any-of? @call "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate" "defmodule" "defprotocol" "defimpl" "defstruct" "alias" "import" "require" "use" "case" "cond" "if" "unless" "for" "with" "try" "receive" "quote" "unquote" "fn" "integer" "binary" "atom" "list" "map" "term" "any" "keyword" "boolean" "pid" "float" "number" "tuple" "module" "no_return" "iodata" "non_neg_integer" "pos_integer" "reference" "charlist" "timeout" "nonempty_list"))
((call target: (_) @_outer (arguments (call target: (identifier) @call (arguments) @arguments)))
  (#not-any-of? @_outer "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate" "spec" "type" "callback")
  (#not-any-of? @call "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate" "defmodule" "defprotocol" "defimpl" "defstruct" "alias" "import" "require" "use" "case" "cond" "if" "unless" "for" "with" "try" "receive" "quote" "unquote" "fn" "integer" "binary" "atom" "list" "map" "term" "any" "keyword" "boolean" "pid" "float" "number" "tuple" "module" "no_return" "iodata" "non_neg_integer" "pos_integer" "reference" "charlist" "timeout" "nonempty_list"))
((source (call target: (identifier) @call (arguments) @arguments)) (#not-any-of? @call "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate" "defmodule" "defprotocol" "defimpl" "defstruct" "alias" "import" "require" "use" "case" "cond" "if" "unless" "for" "with" "try" "receive" "quote" "unquote" "fn"))

; What leaves a function
((call target: (identifier) @_raise (arguments . [
    (alias) @throw
    (identifier) @throw
    (atom) @throw
    (call target: (dot left: (alias) @throw))]))
  (#any-of? @_raise "raise" "reraise" "throw"))
((call target: (identifier) @_raise (arguments . (string) @throw))
  (#eq? @_raise "raise") (#set! value "RuntimeError"))

; What is assigned
(binary_operator left: [(identifier) (list)] @target operator: ["=" "<-"] right: (_) @value)
((binary_operator left: (tuple) @target operator: ["=" "<-"] right: (_) @value) (#not-match? @target "%"))
(binary_operator left: (map (map_content (keywords (pair value: (identifier) @target)))) operator: ["=" "<-"])
[(do_block (stab_clause left: (arguments [(identifier) @target (tuple (identifier) @target)])))
 (rescue_block (stab_clause left: (arguments [(identifier) @target (binary_operator left: (identifier) @target operator: "in")])))
 (catch_block (stab_clause left: (arguments (identifier) @target)))]
((unary_operator operator: "@" operand: (call target: (identifier) @target (arguments . (_) @value)))
  (#not-any-of? @target
    "doc" "moduledoc" "typedoc" "spec" "type" "typep" "opaque" "callback" "macrocallback" "impl" "behaviour" "deprecated" "tag"
    "describetag" "moduletag" "dialyzer" "derive" "optional_callbacks" "compile" "enforce_keys" "since"))

; Identifiers
((identifier) @identifier (#not-match? @identifier "^_"))
(call target: (identifier) @use)
(binary_operator left: (tuple (identifier) @use) operator: ["=" "<-"])
(alias) @use

; Control flow: words and the clauses below them
((call target: (identifier) @branch)
  (#any-of? @branch "if" "unless" "case" "cond" "try" "receive"))
[(else_block) (rescue_block) (catch_block) (after_block)] @branch
[(do_block (stab_clause) @branch) (else_block (stab_clause) @branch)]
((pair key: (keyword) @branch) (#match? @branch "^else:"))
((call target: (identifier) @loop) (#eq? @loop "for"))

; Comments and documentation
(comment) @comment
((unary_operator operator: "@" operand: (call target: (identifier) @_doc (arguments [(string) (sigil)] @doc)))
  (#any-of? @_doc "doc" "moduledoc" "typedoc"))

; Rules
((rescue_block (stab_clause left: (arguments . (identifier) @_any .) right: (body . [(nil) (atom)] .)) @lint)
  (#match? @_any "^_") (#set! value "empty-catch"))
((call target: (dot left: (alias) @_iex right: (identifier) @_pry)) @lint
  (#eq? @_iex "IEx") (#eq? @_pry "pry") (#set! value "debugger-statement"))
((call target: (identifier) @_unless (do_block (else_block))) @lint
  (#eq? @_unless "unless") (#set! value "unless-else"))
