//! The words around a name in a query.

/// Words for kinds, with the kinds that they may mean, the most likely first.
pub(super) const KIND_WORDS: &[(&[&str], &[&str])] = &[
    (
        &["function", "fn", "func", "def", "fun", "macro", "hook", "component", "handler", "decorator"],
        &["function", "method"],
    ),
    (&["method"], &["method", "function"]),
    (&["class", "object", "exception"], &["class", "struct", "interface", "trait", "type", "enum"]),
    (&["struct", "record", "union"], &["struct", "class", "type", "interface"]),
    (&["interface", "protocol"], &["interface", "trait", "type", "class"]),
    (&["trait", "mixin"], &["trait", "interface", "class"]),
    (&["enum"], &["enum", "class", "type"]),
    (&["type", "typedef", "alias"], &["type", "interface", "struct", "class", "enum", "trait"]),
    (&["module", "mod", "namespace", "package"], &["module", "class"]),
    (
        &["const", "constant", "let", "var", "val", "variable", "field", "property", "attribute"],
        &["variable", "function"],
    ),
];

/// Modifiers that may precede a definition; ignored.
pub(super) const MODIFIERS: &[&str] = &[
    "export", "default", "pub", "public", "protected", "private", "static", "async", "abstract", "final",
    "readonly", "unsafe", "extern", "declare", "override", "new", "impl",
];

/// Words that may surround a name in a sentence; ignored.
pub(super) const FILLERS: &[&str] = &[
    "the", "a", "an", "is", "are", "where", "how", "does", "what", "find", "show", "me", "definition",
    "defined", "declaration", "declared", "source", "code", "for", "of", "implementation", "implemented",
    "named", "called", "symbol",
];

/// Words between a name and its container: `json of Context`.
pub(super) const PREPOSITIONS: &[&str] = &["of", "in", "on", "from"];
