; Facts of Haskell.
;! without mutates returns

; Parameters: names in the patterns of functions, up to the usual depth.
[
  (patterns (variable) @param)
  (patterns (as bind: (variable) @param))
  (patterns (parens pattern: (apply argument: (variable) @param)))
  (patterns (parens pattern: (apply function: (apply argument: (variable) @param))))
  (patterns (parens pattern: (infix left_operand: (variable) @param)))
  (patterns (parens pattern: (infix right_operand: (variable) @param)))
  (patterns (as pattern: (parens pattern: (infix left_operand: (variable) @param))))
  (patterns (as pattern: (parens pattern: (infix right_operand: (variable) @param))))
  (patterns (tuple element: (variable) @param))
  (patterns (list element: (variable) @param))
  (patterns (strict (variable) @param))
  (patterns (irrefutable (variable) @param))
]

; Types: those before an arrow belong to parameters, the one after the last arrow is the return type.
(signature type: (function parameter: (_) @type))
(signature type: (context type: (function parameter: (_) @type)))
(function parameter: (_) result: (function parameter: (_) @type))
(field type: (_) @type)
(prefix [(name) (apply) (list) (tuple) (parens) (qualified)] @type)
[
  (signature name: (_) type: [(name) (apply) (list) (tuple) (unit) (variable) (parens) (qualified)] @return_type)
  (signature name: (_) type: (function result: [(name) (apply) (list) (tuple) (unit) (variable) (parens) (qualified)] @return_type))
  (signature name: (_) type: (function result: (function result: [(name) (apply) (list) (tuple) (unit) (variable) (parens) (qualified)] @return_type)))
  (signature name: (_) type: (function result: (function result: (function result: [(name) (apply) (list) (tuple) (unit) (variable) (parens) (qualified)] @return_type))))
  (signature name: (_) type: (function result: (function result: (function result: (function result: [(name) (apply) (list) (tuple) (unit) (variable) (parens) (qualified)] @return_type)))))
  (signature name: (_) type: (function result: (function result: (function result: (function result: (function result: [(name) (apply) (list) (tuple) (unit) (variable) (parens) (qualified)] @return_type))))))
  (signature name: (_) type: (context type: [(name) (apply) (list) (tuple) (unit) (variable) (parens) (qualified)] @return_type))
  (signature name: (_) type: (context type: (function result: [(name) (apply) (list) (tuple) (unit) (variable) (parens) (qualified)] @return_type)))
  (signature name: (_) type: (context type: (function result: (function result: [(name) (apply) (list) (tuple) (unit) (variable) (parens) (qualified)] @return_type))))
  (signature name: (_) type: (context type: (function result: (function result: (function result: [(name) (apply) (list) (tuple) (unit) (variable) (parens) (qualified)] @return_type)))))
  (signature name: (_) type: (context type: (function result: (function result: (function result: (function result: [(name) (apply) (list) (tuple) (unit) (variable) (parens) (qualified)] @return_type))))))
  (signature name: (_) type: (context type: (function result: (function result: (function result: (function result: (function result: [(name) (apply) (list) (tuple) (unit) (variable) (parens) (qualified)] @return_type)))))))
]
((bind match: (match expression: (literal (string) @inferred))) (#set! value "String"))
((bind match: (match expression: (literal (char) @inferred))) (#set! value "Char"))

; Classes: superclasses of a class, and classes that an instance or a deriving clause implements.
(class context: (context context: (apply constructor: (name) @extends)))
(class context: (context context: (parens (apply constructor: (name) @extends))))
(class context: (context context: (tuple (apply constructor: (name) @extends))))
(instance name: (_) @implements)
(deriving classes: (name) @implements)
(deriving classes: (tuple [(name) (qualified)] @implements))
(deriving classes: (parens [(name) (qualified)] @implements))

(import module: (module) @import)
(export variable: (variable) @export)
(export type: (name) @export)
(module_export module: (module) @export)

; Calls: application, application by `$`, functions between their operands, and actions of a `do` block.
(apply function: [(variable) (qualified id: (variable))] @call)
((infix left_operand: [(variable) (qualified id: (variable))] @call operator: (operator) @_apply) (#any-of? @_apply "$" "$!" "<$>"))
(infix operator: (infix_id [(variable) (qualified)] @call))
(do statement: (exp . [(variable) (qualified id: (variable))] @call .))
(do statement: (bind expression: [(variable) (qualified id: (variable))] @call))
; Operators, whose uses count as calls: between operands, beside one, and by themselves. They are no facts, only uses of symbols. What a
; function defines inside of itself is a local name.
(infix operator: [(operator) @call (qualified id: (operator) @call)])
[
  (left_section [(operator) @call (qualified id: (operator) @call)])
  (right_section [(operator) @call (qualified id: (operator) @call)])
  (apply function: (prefix_id [(operator) @call (qualified id: (operator) @call)]))
  (apply argument: (prefix_id [(operator) @call (qualified id: (operator) @call)]))
  (infix left_operand: (prefix_id [(operator) @call (qualified id: (operator) @call)]))
  (infix right_operand: (prefix_id [(operator) @call (qualified id: (operator) @call)]))
  (match expression: (prefix_id [(operator) @call (qualified id: (operator) @call)]))
  (list element: (prefix_id [(operator) @call (qualified id: (operator) @call)]))
  (tuple element: (prefix_id [(operator) @call (qualified id: (operator) @call)]))
]
[
  (local_binds (function (infix operator: (operator) @target)))
  (local_binds (function name: (prefix_id (operator) @target)))
]

; Throws.
((apply function: (variable) @_throw argument: [
  (constructor) @throw
  (variable) @throw
  (parens expression: (apply function: (constructor) @throw))
  (parens expression: (constructor) @throw)
]) (#any-of? @_throw "throw" "throwIO" "throwM" "throwError" "throwSTM" "throwE" "ioError"))
((infix left_operand: (variable) @_throw operator: (operator) @_apply right_operand: [
  (constructor) @throw
  (variable) @throw
  (apply function: (constructor) @throw)
]) (#any-of? @_throw "throw" "throwIO" "throwM" "throwError" "throwSTM" "throwE" "ioError") (#eq? @_apply "$"))
((apply function: (variable) @throw) (#any-of? @throw "error" "errorWithoutStackTrace"))
((infix left_operand: (variable) @throw operator: (operator) @_apply) (#any-of? @throw "error" "errorWithoutStackTrace") (#eq? @_apply "$"))

; Bindings, and references that are written to.
(local_binds (bind name: (variable) @target match: (match expression: (_) @value)))
(local_binds (bind pattern: (_) @target match: (match expression: (_) @value)))
(do statement: (bind pattern: (_) @target expression: (_) @value))
(generator pattern: (_) @target expression: (_) @value)
((apply function: (apply function: (variable) @_write argument: (variable) @target) argument: (_) @value)
  (#any-of? @_write "writeIORef" "writeTVar" "putMVar" "writeSTRef" "atomicWriteIORef" "modifyIORef" "modifyIORef'" "modifyTVar" "modifyTVar'" "modifySTRef" "modifySTRef'"))

; Names. Type variables are not values.
(variable) @identifier
[(name) (constructor)] @use
[
  (signature name: (variable) @use)
  (local_binds (function name: (variable) @use))
  (class_declarations (function name: (variable) @use))
  (field name: (field_name (variable) @use))
  (field_update field: (field_name (variable) @use))
  (export variable: (variable) @use)
  (import_name variable: (variable) @use)
  (apply constructor: (variable) @use)
  (apply constructor: (_) argument: (variable) @use)
  (function parameter: (variable) @use)
  (function result: (variable) @use)
  (signature type: (variable) @use)
  (type_params bind: (variable) @use)
  (local_binds (bind pattern: (tuple element: (variable) @use)))
  (do statement: (bind pattern: (tuple element: (variable) @use)))
]

; Control flow. Each guard and each alternative is a branch.
[(conditional) (case) (lambda_case) (multi_way_if) (alternative)] @branch
(conditional "else" @branch)
(match guards: (_)) @branch
((apply function: (variable) @branch) (#any-of? @branch "when" "unless"))

[(comment) (haddock)] @comment
((apply function: (variable) @lint) (#eq? @lint "fromJust") (#set! value "partial-function"))
((apply function: (variable) @lint) (#eq? @lint "unsafePerformIO") (#set! value "unsafe-io"))
((infix left_operand: (variable) @lint) (#eq? @lint "unsafePerformIO") (#set! value "unsafe-io"))
