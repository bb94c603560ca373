; Colours of Haskell. The query of the grammar distinguishes expressions from patterns by supertypes, which ours cannot.
[(comment) (haddock)] @comment
(pragma) @attribute
(cpp) @keyword

[(string) (char) (quasiquote_body)] @string
[(integer) (float)] @number

[
  "anyclass" "as" "case" "cases" "class" "data" "default" "deriving" "do" "else" "export" "family" "forall" "foreign" "hiding" "if"
  "import" "in" "infix" "infixl" "infixr" "instance" "let" "mdo" "module" "newtype" "of" "pattern" "qualified" "rec" "role"
  "stock" "then" "type" "via" "where"
] @keyword

[(name) (constructor) (module_id)] @type
((constructor) @boolean (#any-of? @boolean "True" "False"))
(field_name (variable) @property)

(signature name: (variable) @function)
(signature names: (binding_list (variable) @function))
(function name: (variable) @function)
(declarations (bind name: (variable) @function))
(instance_declarations (bind name: (variable) @function))
(apply function: (variable) @function)
(apply function: (qualified id: (variable) @function))
(infix operator: (infix_id (variable) @function))
(infix operator: (infix_id (qualified id: (variable) @function)))
((infix left_operand: [(variable) @function (qualified id: (variable) @function)] operator: (operator) @_apply)
  (#any-of? @_apply "$" "$!" "<$>"))
(quoter) @function
