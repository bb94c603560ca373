; Definitions of Haskell: at the top level, in classes and in instances. The earliest pattern wins for a name.
(declarations (function name: (_) @name match: (_)? @body) @definition.function)
(declarations (bind name: (_) @name match: (_)? @body) @definition.function)
(declarations (function (infix operator: [(operator) (infix_id)] @name) match: (_)? @body) @definition.function)
(instance_declarations (function (infix operator: [(operator) (infix_id)] @name) match: (_)? @body) @definition.method)
(class_declarations (signature name: (prefix_id) @name) @definition.method)
(class_declarations (signature name: (variable) @name) @definition.method)
(instance_declarations (function name: (_) @name match: (_)? @body) @definition.method)
(instance_declarations (bind name: (_) @name match: (_)? @body) @definition.method)
(data_type name: (_) @name) @definition.type
(newtype name: (_) @name) @definition.type
(type_synonym name: (_) @name) @definition.type
(type_family name: (_) @name) @definition.type
(data_family name: (_) @name) @definition.type
(class name: (_) @name declarations: (_)? @body) @definition.class
(instance name: (_) @name declarations: (_)? @body) @definition.impl

; A signature belongs to the function after it.
(declarations (signature) @leading)
[(comment) (haddock) (pragma)] @leading
