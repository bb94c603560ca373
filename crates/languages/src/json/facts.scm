; Facts of JSON: references to other files; references within the document are uses.

((pair key: (string (string_content) @_key) value: (string) @import) (#any-of? @_key "extends" "$ref" "$schema") (#not-match? @import "^\"#"))
((pair key: (string (string_content) @_key) value: (array (string) @import)) (#any-of? @_key "extends" "files" "references"))
((pair key: (string (string_content) @_key) value: (object (pair key: (string) @import)))
  (#any-of? @_key "dependencies" "devDependencies" "peerDependencies" "optionalDependencies" "require" "require-dev"))
((pair key: (string (string_content) @_key) value: (string (string_content) @use)) (#eq? @_key "$ref") (#match? @use "^#"))

(comment) @comment
