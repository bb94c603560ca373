; The keys at the top of a document.
(document (object (pair key: (string) @name) @definition.section))

(comment) @leading
