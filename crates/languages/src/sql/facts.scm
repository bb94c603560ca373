; Facts of SQL.
;! without mutates

; Parameters, columns and their types.
(function_argument . (identifier) @param)
(function_argument . (identifier) . (_) @type)
((column_definition type: (_) @type) (#not-match? @type "^\\["))
(column_definition custom_type: (_) @type)
(function_declaration . (identifier) . (_) @type)
(cast (keyword_as) . (_) @type)
((create_function (keyword_returns) . (_) @return_type) (#not-any-of? @return_type "SETOF" "setof" "TABLE" "table"))
(create_function (keyword_setof) . (_) @return_type)
(function_body (keyword_return) . (_) @returns)

[
  (create_table [(keyword_temporary) (keyword_temp) (keyword_unlogged)] @modifier)
  (create_function [(function_volatility) (function_strictness) (function_security)] @modifier)
  (cte [(keyword_materialized)] @modifier)
  (statement (keyword_recursive) @modifier)
]

; Imports: extensions.
(create_extension (identifier) @import)

; Calls. A trigger calls its function.
(invocation . (object_reference) @call)
(create_trigger (keyword_execute) . (_) . (object_reference) @call)

; Assignments: tables and columns that are written.
(insert (keyword_into) . (object_reference name: (identifier) @target))
(insert (list (column (identifier) @target)))
(update (relation (object_reference name: (identifier) @target)))
(assignment left: (field name: (identifier) @target) right: (_) @value)
(statement (delete) . (from (object_reference name: (identifier) @target)))
(statement (keyword_truncate) (object_reference name: (identifier) @target))
(statement (keyword_merge) (keyword_into) . (object_reference name: (identifier) @target))

; Names. Aliases are not values.
(identifier) @identifier
[
  (column_definition name: (identifier) @use)
  (column_definition (object_reference (identifier) @use))
  (column_definition (identifier) @use)
  (constraint (object_reference (identifier) @use))
  (function_argument (object_reference (identifier) @use))
  (create_function custom_type: (object_reference (identifier) @use))
  (create_table (object_reference (identifier) @use))
  (create_view (object_reference (identifier) @use))
  (create_materialized_view (object_reference (identifier) @use))
  (create_type (object_reference (identifier) @use))
  (create_function (object_reference (identifier) @use))
  (create_trigger (object_reference (identifier) @use))
  (create_index (object_reference (identifier) @use))
  (create_index column: (identifier) @use)
  (alter_table (object_reference (identifier) @use))
  (drop_table (object_reference (identifier) @use))
  (function_language (identifier) @use)
  (create_extension (identifier) @use)
  (function_declaration . (identifier) @use)
  (term alias: (identifier) @use)
  (relation alias: (identifier) @use)
  (cte . (identifier) @use)
  (object_reference schema: (identifier) @use)
  (field (object_reference name: (identifier) @use))
]

; Control flow.
[(case) (when_clause)] @branch
(case [(keyword_when) (keyword_else)] @branch)
(function_body (keyword_return) @return)

; Comments and lint rules.
[(comment) (marginalia)] @comment
((select (select_expression (term value: (all_fields) @lint))) (#set! value "select-star"))
((update (assignment) @lint .) (#set! value "update-without-where"))
((statement (delete) . (from (object_reference) .) @lint) (#set! value "delete-without-where"))
