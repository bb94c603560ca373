; Colours of TOML. The query of the grammar paints a whole pair like its key.
(comment) @comment
[(string) (offset_date_time) (local_date_time) (local_date) (local_time)] @string
(escape_sequence) @escape
[(integer) (float)] @number
(boolean) @boolean

(pair [(bare_key) (quoted_key) (dotted_key)] @property)
(table [(bare_key) (quoted_key) (dotted_key)] @type)
(table_array_element [(bare_key) (quoted_key) (dotted_key)] @type)
