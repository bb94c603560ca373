; Facts of TOML: dependencies on other packages.

((table . (bare_key) @_key (pair . [(bare_key) (quoted_key)] @import)) (#any-of? @_key "dependencies" "dev-dependencies" "build-dependencies"))
((table . (dotted_key (bare_key) @_key .) (pair . [(bare_key) (quoted_key)] @import)) (#any-of? @_key "dependencies" "dev-dependencies" "build-dependencies"))
((table . (dotted_key . (bare_key) @_key . [(bare_key) (quoted_key)] @import .)) (#any-of? @_key "dependencies" "dev-dependencies" "build-dependencies"))

(comment) @comment
