//! Ruby: constants are seen everywhere, and classes are open; methods outside of classes are seen where their file is required.

use super::{DEFAULT, Family, Located, Merging, Rules, Sight};
use crate::paths::{folder, join, relative};
use crate::repository::Repository;
use crate::value::Module;

pub(super) const RULES: Rules = Rules {
    family: Family::Ruby,
    languages: &["ruby"],
    modules,
    package: |_| Some(String::new()),
    separator: "::",
    types_are_packages: true,
    sides: true,
    sight: Sight::Required,
    members_visible: true,
    exported: |_, _| true,
    merging: Merging::InPackage,
    constructors: &["initialize"],
    builtin_members: BUILTIN_MEMBERS,
    ..DEFAULT
};

/// Finds the file that `require` or `require_relative` names; the path of the latter begins with `./`.
fn modules<'p>(repository: &Repository, from: u32, path: &'p str) -> Vec<Located<'p>> {
    let paths = &repository.paths;
    let with_end = |path: &str| match path.ends_with(".rb") {
        true => path.to_owned(),
        false => format!("{path}.rb"),
    };
    if path.starts_with("::") {
        // A module that is included everywhere: it is not a file.
        return Vec::new();
    }
    let found = match path.strip_prefix("./") {
        Some(path) => {
            let file = relative(folder(paths.path(from)), &with_end(path));
            file.and_then(|file| paths.file(Family::Ruby, &file))
        }
        None => {
            let end = with_end(path);
            let in_lib = paths.nearest(from, paths.ending_with(Family::Ruby, &join("lib", &end)));
            let near = paths.file(Family::Ruby, &join(folder(paths.path(from)), &end));
            let other = paths.nearest(from, paths.ending_with(Family::Ruby, &end));
            let only = other.first().copied().filter(|_| other.len() == 1 && path.contains('/'));
            in_lib.first().copied().or(near).or(only)
        }
    };
    found.map(|file| Located::whole(Module::File(file))).into_iter().collect()
}

/// Methods of the core classes.
const BUILTIN_MEMBERS: &[&str] = &[
    "<<", "==", "all?", "any?", "call", "chars", "chomp", "class", "clear", "collect", "compact", "concat",
    "count", "delete", "detect", "dig", "downcase", "dup", "each", "each_pair", "each_with_index",
    "each_with_object", "empty?", "end_with?", "fetch", "find", "first", "flat_map", "flatten", "freeze",
    "gsub", "has_key?", "include?", "index", "inject", "inspect", "instance_variable_get", "is_a?", "join",
    "key?", "keys", "last", "length", "lines", "map", "match", "match?", "max", "merge", "merge!", "message",
    "min", "name", "new", "nil?", "none?", "pop", "positive?", "push", "read", "reduce", "reject", "replace",
    "respond_to?", "reverse", "scan", "select", "send", "shift", "size", "slice", "sort", "sort_by", "split",
    "start_with?", "strip", "sub", "sum", "tap", "times", "to_a", "to_h", "to_i", "to_proc", "to_s",
    "to_str", "to_sym", "tr", "transform_values", "uniq", "unshift", "upcase", "update", "values", "write",
    "zero?", "zip",
];
