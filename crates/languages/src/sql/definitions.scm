; Definitions of SQL.
(create_table (object_reference) @name (column_definitions)? @body) @definition.struct
(create_view (object_reference) @name (create_query)? @body) @definition.struct
(create_materialized_view (object_reference) @name (create_query)? @body) @definition.struct
(create_type (object_reference) @name) @definition.type
(create_function (keyword_function) . (object_reference) @name (function_body)? @body) @definition.function
(create_trigger (keyword_trigger) . (object_reference) @name) @definition.function
(create_schema (identifier) @name) @definition.module

[(comment) (marginalia)] @leading
