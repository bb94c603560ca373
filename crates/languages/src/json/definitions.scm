; Definitions: the top-level keys of a document.
(document (object (pair key: (string) @name) @definition.section))

(comment) @leading
