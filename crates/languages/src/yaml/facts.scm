; Facts of YAML: references to other files, and anchors.
;! without mutates

((block_mapping_pair key: (flow_node) @_key value: (flow_node) @import)
  (#any-of? @_key "uses" "extends" "include" "$ref" "'$ref'" "\"$ref\"") (#not-match? @import "^['\"]?#"))
((block_mapping_pair key: (flow_node) @_key value: (block_node (block_sequence (block_sequence_item (flow_node) @import))))
  (#any-of? @_key "extends" "include" "includes" "imports"))

; `&name` names a node, `*name` refers to it.
(anchor (anchor_name) @target)
(alias (alias_name) @identifier)
((block_mapping_pair key: (flow_node) @_key value: (flow_node (alias (alias_name) @extends))) (#eq? @_key "<<"))

(comment) @comment
