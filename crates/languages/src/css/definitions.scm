; Definitions of a style sheet: rules by their selectors, and keyframes.
(rule_set (selectors) @name) @definition.section
(keyframes_statement (keyframes_name) @name) @definition.section

(comment) @leading
