; What a style sheet names: rules by their selectors, and key frames.
(rule_set (selectors) @name) @definition.section
(keyframes_statement (keyframes_name) @name) @definition.section

(comment) @leading
