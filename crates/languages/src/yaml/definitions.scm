; Definitions: the top-level keys of a document.
(document (block_node (block_mapping (block_mapping_pair key: (flow_node) @name) @definition.section)))

(comment) @leading
