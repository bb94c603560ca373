; Facts of Elixir. Definitions and control flow are calls, too, and are distinguished by name.
;! without mutates
;! default-visibility public

; Parameters, also inside patterns
((call target: (identifier) @_def (arguments . [
  (call (arguments [
    (identifier) @param
    (binary_operator left: (identifier) @param operator: ["\\\\" "="])
    (binary_operator operator: "=" right: (identifier) @param)
    (binary_operator left: (map (map_content (keywords (pair value: (identifier) @param)))) operator: "=")
    (tuple (identifier) @param)
    (list (identifier) @param)
    (list (binary_operator (identifier) @param operator: "|"))
    (map (map_content (keywords (pair value: (identifier) @param))))
  ]))
  (binary_operator left: (call (arguments [
    (identifier) @param
    (binary_operator left: (identifier) @param operator: ["\\\\" "="])
    (binary_operator operator: "=" right: (identifier) @param)
    (binary_operator left: (map (map_content (keywords (pair value: (identifier) @param)))) operator: "=")
    (tuple (identifier) @param)
    (list (identifier) @param)
    (list (binary_operator (identifier) @param operator: "|"))
    (map (map_content (keywords (pair value: (identifier) @param))))
  ])) operator: "when")
])) (#any-of? @_def "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate") (#not-eq? @param "_"))
((anonymous_function (stab_clause left: (arguments [
  (identifier) @param
  (tuple (identifier) @param)
  (map (map_content (keywords (pair value: (identifier) @param))))
]))) (#not-eq? @param "_"))

; Types are in a specification before the function
((call target: (identifier) @_spec (arguments (binary_operator operator: "::" right: (_) @return_type)))
  (#any-of? @_spec "spec" "callback"))
((call target: (identifier) @_spec (arguments (binary_operator left: (call (arguments (_) @type)) operator: "::")))
  (#any-of? @_spec "spec" "callback"))
(rescue_block (stab_clause left: (arguments [(alias) @type (binary_operator operator: "in" right: [(alias) @type (list (alias) @type)])])))

; Types inferred from values
((binary_operator operator: "=" right: (string) @inferred) (#set! value "string"))
((binary_operator operator: "=" right: (integer) @inferred) (#set! value "integer"))
((binary_operator operator: "=" right: (float) @inferred) (#set! value "float"))
((binary_operator operator: "=" right: (boolean) @inferred) (#set! value "boolean"))
((binary_operator operator: "=" right: (atom) @inferred) (#set! value "atom"))
((binary_operator operator: "=" right: (list) @inferred) (#set! value "list"))
((binary_operator operator: "=" right: (map . (map_content)? @inferred)) (#set! value "map"))
(binary_operator operator: "=" right: (map (struct (alias) @inferred)))

; Attributes and visibility of functions
((unary_operator operator: "@" operand: (call target: (identifier) @_name)) @decorator
  (#any-of? @_name "impl" "deprecated" "tag" "describetag" "moduletag"))
((call target: (identifier) @visibility)
  (#any-of? @visibility "defp" "defmacrop" "defguardp" "typep") (#set! value "private"))

; Behaviours and protocols
((call target: (identifier) @_macro (arguments . (alias) @implements)) (#any-of? @_macro "behaviour" "use" "defimpl"))

; Modules
((call target: (identifier) @_macro (arguments . [(alias) (dot)] @import))
  (#any-of? @_macro "alias" "import" "require" "use"))

; Calls, by their context: elsewhere, heads of functions and types have the same syntax.
([
  (source (call target: [(identifier) (dot)] @call (arguments) @arguments))
  (do_block (call target: [(identifier) (dot)] @call (arguments) @arguments))
  (else_block (call target: [(identifier) (dot)] @call (arguments) @arguments))
  (rescue_block (call target: [(identifier) (dot)] @call (arguments) @arguments))
  (catch_block (call target: [(identifier) (dot)] @call (arguments) @arguments))
  (after_block (call target: [(identifier) (dot)] @call (arguments) @arguments))
  (body (call target: [(identifier) (dot)] @call (arguments) @arguments))
  (block (call target: [(identifier) (dot)] @call (arguments) @arguments))
  (tuple (call target: [(identifier) (dot)] @call (arguments) @arguments))
  (list (call target: [(identifier) (dot)] @call (arguments) @arguments))
  (interpolation (call target: [(identifier) (dot)] @call (arguments) @arguments))
  (map_content (call target: [(identifier) (dot)] @call (arguments) @arguments))
  (bitstring (call target: [(identifier) (dot)] @call (arguments) @arguments))
  (pair value: (call target: [(identifier) (dot)] @call (arguments) @arguments))
  (dot left: (call target: [(identifier) (dot)] @call (arguments) @arguments))
  (access_call target: (call target: [(identifier) (dot)] @call (arguments) @arguments))
  (call target: (dot) (arguments (call target: [(identifier) (dot)] @call (arguments) @arguments)))
] (#not-any-of? @call "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate" "defmodule" "defprotocol" "defimpl" "defstruct" "defexception" "defoverridable" "alias" "import" "require" "use" "if" "unless" "case" "cond" "with" "for" "try" "receive" "quote" "unquote" "fn" "keyword" "integer" "binary" "term" "any" "atom" "boolean" "map" "list" "pid" "module" "reference" "iodata" "timeout" "non_neg_integer" "pos_integer" "no_return" "String.t" "Keyword.t" "Plug.Conn.t" "t"))
((call target: (identifier) @_outer (arguments (call target: [(identifier) (dot)] @call (arguments) @arguments)))
  (#not-any-of? @_outer "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate" "spec" "type" "typep" "opaque" "callback" "macrocallback")
  (#not-any-of? @call "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate" "defmodule" "defprotocol" "defimpl" "defstruct" "defexception" "defoverridable" "alias" "import" "require" "use" "if" "unless" "case" "cond" "with" "for" "try" "receive" "quote" "unquote" "fn" "keyword" "integer" "binary" "term" "any" "atom" "boolean" "map" "list" "pid" "module" "reference" "iodata" "timeout" "non_neg_integer" "pos_integer" "no_return" "String.t" "Keyword.t" "Plug.Conn.t" "t"))
((unary_operator operator: _ @_operator operand: (call target: [(identifier) (dot)] @call (arguments) @arguments))
  (#not-eq? @_operator "@") (#not-any-of? @call "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate" "defmodule" "defprotocol" "defimpl" "defstruct" "defexception" "defoverridable" "alias" "import" "require" "use" "if" "unless" "case" "cond" "with" "for" "try" "receive" "quote" "unquote" "fn" "keyword" "integer" "binary" "term" "any" "atom" "boolean" "map" "list" "pid" "module" "reference" "iodata" "timeout" "non_neg_integer" "pos_integer" "no_return" "String.t" "Keyword.t" "Plug.Conn.t" "t"))
((binary_operator left: (call target: [(identifier) (dot)] @call (arguments) @arguments) operator: _ @_operator)
  (#not-any-of? @_operator "when" "::" "|") (#not-any-of? @call "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate" "defmodule" "defprotocol" "defimpl" "defstruct" "defexception" "defoverridable" "alias" "import" "require" "use" "if" "unless" "case" "cond" "with" "for" "try" "receive" "quote" "unquote" "fn" "keyword" "integer" "binary" "term" "any" "atom" "boolean" "map" "list" "pid" "module" "reference" "iodata" "timeout" "non_neg_integer" "pos_integer" "no_return" "String.t" "Keyword.t" "Plug.Conn.t" "t"))
((binary_operator operator: _ @_operator right: (call target: [(identifier) (dot)] @call (arguments) @arguments))
  (#not-any-of? @_operator "::" "|") (#not-any-of? @call "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate" "defmodule" "defprotocol" "defimpl" "defstruct" "defexception" "defoverridable" "alias" "import" "require" "use" "if" "unless" "case" "cond" "with" "for" "try" "receive" "quote" "unquote" "fn" "keyword" "integer" "binary" "term" "any" "atom" "boolean" "map" "list" "pid" "module" "reference" "iodata" "timeout" "non_neg_integer" "pos_integer" "no_return" "String.t" "Keyword.t" "Plug.Conn.t" "t"))
(binary_operator operator: "|>" right: (identifier) @call)

; Raises
((call target: (identifier) @_raise (arguments . [(alias) (identifier)] @throw)) (#any-of? @_raise "raise" "reraise"))
((call target: (identifier) @_raise (arguments . (string) @throw)) (#eq? @_raise "raise") (#set! value "RuntimeError"))
((call target: (identifier) @_throw (arguments . [(atom) (identifier)] @throw)) (#eq? @_throw "throw"))

; Matches are assignments
(binary_operator left: (identifier) @target operator: ["=" "<-"] right: (_) @value)
(binary_operator left: (tuple) @target operator: ["=" "<-"] right: (_) @value)
(binary_operator left: [
  (tuple (identifier) @target)
  (list (identifier) @target)
  (list (binary_operator (identifier) @target operator: "|"))
  (map (map_content (keywords (pair value: (identifier) @target))))
  (tuple (map (map_content (keywords (pair value: (identifier) @target)))))
] operator: ["=" "<-"])
[
  (do_block (stab_clause left: (arguments (tuple (identifier) @target))))
  (do_block (stab_clause left: (binary_operator left: (arguments (tuple (identifier) @target)) operator: "when")))
  (else_block (stab_clause left: (arguments (tuple (identifier) @target))))
  (rescue_block (stab_clause left: (arguments [(identifier) @target (binary_operator left: (identifier) @target operator: "in")])))
  (catch_block (stab_clause left: (arguments (identifier) @target)))
]
((unary_operator operator: "@" operand: (call target: (identifier) @target (arguments . (_) @value .)))
  (#not-any-of? @target "doc" "moduledoc" "typedoc" "spec" "type" "typep" "opaque" "callback" "macrocallback" "impl"
    "behaviour" "deprecated" "tag" "describetag" "moduletag" "derive"))

; Identifiers, except for callees: functions and macros of the language.
((identifier) @identifier (#not-eq? @identifier "_"))
((call target: (identifier) @use) (#set! value ""))
(alias) @use
((keyword) @use (#not-match? @use "^(do|else):"))

; Control flow. Comprehensions are the only loops.
((call target: (identifier) @branch) (#any-of? @branch "if" "unless" "case" "cond" "with" "try" "receive"))
(do_block (stab_clause) @branch)
[(else_block) (rescue_block) (catch_block) (after_block)] @branch
((pair key: (keyword) @branch) (#match? @branch "^else:"))
((call target: (identifier) @loop) (#eq? @loop "for"))

(comment) @comment
((unary_operator operator: "@" operand: (call target: (identifier) @_doc (arguments . [(string) (sigil)] @doc)))
  (#any-of? @_doc "doc" "moduledoc" "typedoc"))

; Lint rules
((do_block (call target: (identifier) @_raise) . (_) @lint)
  (#any-of? @_raise "raise" "reraise" "throw") (#not-match? @lint "^(#|else|rescue|catch|after)")
  (#set! value "unreachable-code"))
((rescue_block (stab_clause left: (arguments . (identifier) @lint .))) (#eq? @lint "_") (#set! value "catch-all-rescue"))
((call target: (dot) @lint) (#eq? @lint "IEx.pry") (#set! value "debugger-statement"))
