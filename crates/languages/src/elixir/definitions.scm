; Definitions of Elixir: calls of its defining macros. The earliest pattern wins for a name.
(call
  target: (identifier) @_macro
  (arguments . (alias) @name)
  (do_block) @body
  (#any-of? @_macro "defmodule" "defprotocol")) @definition.module
(call
  target: (identifier) @_macro
  (arguments . (alias) @name)
  (do_block) @body
  (#eq? @_macro "defimpl")) @definition.impl
(call
  target: (identifier) @_macro
  (arguments . [
    (identifier) @name
    (call target: (identifier) @name)
    (binary_operator left: (call target: (identifier) @name) operator: "when")])
  (do_block)? @body
  (#any-of? @_macro "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate")) @definition.function
(call
  target: (identifier) @_macro
  (arguments . [
    (binary_operator operator: _ @name)
    (binary_operator left: (binary_operator operator: _ @name) operator: "when")])
  (do_block)? @body
  (#any-of? @_macro "def" "defp" "defmacro" "defmacrop") (#not-eq? @name "when")) @definition.function
(unary_operator
  operator: "@"
  operand: (call
    target: (identifier) @_attribute
    (arguments . (binary_operator left: [(identifier) @name (call target: (identifier) @name)] operator: "::")))
  (#any-of? @_attribute "type" "typep" "opaque")) @definition.type

(unary_operator
  operator: "@"
  operand: (call target: (identifier) @_attribute)
  (#any-of? @_attribute "doc" "spec" "impl" "deprecated" "typedoc" "tag")) @leading
(comment) @leading
