//! Java, Kotlin and Scala: names across files. A path names a package, and types inside of it.

use super::{DEFAULT, Family, FreeNames, Located, Merging, Rules};
use crate::repository::Repository;

pub(super) const RULES: Rules = Rules {
    family: Family::Jvm,
    languages: &["java", "kotlin", "scala"],
    modules,
    package: |file| Some(file.interface.package.clone().unwrap_or_default()),
    in_package: |_, symbol| symbol.exported,
    members_visible: true,
    merging: Merging::InPackage,
    functions_apart: &["java"],
    free_names: FreeNames::Builtin,
    free_names_are_packages: true,
    types_apart: true,
    visible_extensions: true,
    call_member: Some("invoke"),
    content_members: &[
        "call", "element", "elementAt", "find", "first", "firstOrNull", "floorEntry", "get", "getAndSet",
        "getOrDefault", "getOrElse", "getOrNull", "getOrPut", "getValue", "last", "lastOrNull", "next",
        "orElse", "orElseGet", "orElseThrow", "peek", "poll", "pop", "previous", "removeFirst", "removeLast",
        "single", "singleOrNull", "take", "value",
    ],
    builtin_members: BUILTIN_MEMBERS,
    ..DEFAULT
};

/// Finds the longest beginning of a path that is a package, if the rest is found in it. Other paths lead out of the repository.
fn modules<'p>(repository: &Repository, _: u32, path: &'p str) -> Vec<Located<'p>> {
    super::package_and_rest(repository, Family::Jvm, path).into_iter().collect()
}

/// Members of strings, collections, streams, boxes and of every object.
const BUILTIN_MEMBERS: &[&str] = &[
    "add", "addAll", "all", "also", "and", "any", "append", "apply", "asSequence", "charAt", "clear",
    "clone", "close", "code", "compareTo", "contains", "containsKey", "copy", "copyInto", "copyOf",
    "copyOfRange", "count", "dec", "div", "downTo", "drop", "endsWith", "equals", "fill", "filter", "find",
    "first", "flush", "forEach", "format", "get", "getClass", "getKey", "getName", "getSimpleName",
    "getValue", "hasNext", "hashCode", "inc", "indexOf", "indices", "intValue", "inv", "isAssignableFrom",
    "isEmpty", "isNotEmpty", "iterator", "join", "joinToString", "keySet", "last", "length", "let", "lines",
    "map", "minus", "name", "next", "none", "onEach", "or", "ordinal", "plus", "print", "println", "put",
    "read", "rem", "remove", "repeat", "replace", "reversed", "run", "set", "shl", "shr", "size", "sorted",
    "split", "startsWith", "step", "stream", "substring", "take", "takeIf", "times", "to", "toArray",
    "toByte", "toByteArray", "toChar", "toDouble", "toFloat", "toInt", "toList", "toLong", "toMap",
    "toMutableList", "toSet", "toShort", "toString", "trim", "trimIndent", "trimMargin", "until", "use",
    "ushr", "values", "withIndex", "write", "xor",
];
