//! Swift: names across files. All files see each other; imports lead out of the repository.

use super::{DEFAULT, Family, FreeNames, Rules};

pub(super) const RULES: Rules = Rules {
    family: Family::Swift,
    languages: &["swift"],
    package: |_| Some(String::new()),
    in_package: |_, symbol| symbol.exported,
    members_visible: true,
    free_names: FreeNames::Builtin,
    types_apart: true,
    visible_extensions: true,
    constructors: &["init"],
    content_members: &[
        "first", "last", "max", "min", "next", "popFirst", "popLast", "randomElement", "removeFirst",
        "removeLast", "value", "wrappedValue",
    ],
    builtin_members: BUILTIN_MEMBERS,
    ..DEFAULT
};

/// Members of strings, collections, optionals and results.
const BUILTIN_MEMBERS: &[&str] = &[
    "append", "contains", "count", "description", "dropFirst", "dropLast", "enumerated", "filter", "first",
    "firstIndex", "flatMap", "forEach", "get", "hasPrefix", "hasSuffix", "hash", "index", "indices",
    "insert", "isEmpty", "joined", "keys", "last", "lowercased", "map", "max", "min", "prefix", "reduce",
    "remove", "removeAll", "removeFirst", "removeLast", "replacingOccurrences", "reversed", "sorted",
    "split", "suffix", "trimmingCharacters", "uppercased", "utf8", "values", "zip",
];
