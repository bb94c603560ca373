//! C and C++: a file sees what it includes, and what is linked: definitions with external linkage in all files.

use languages::symbols::{Symbol, SymbolKind};

use super::{DEFAULT, Family, FreeNames, Located, Merging, Rules, Sight};
use crate::includes::is_header;
use crate::paths::{folder, relative};
use crate::repository::Repository;
use crate::source_file::SourceFile;
use crate::value::Module;

pub(super) const RULES: Rules = Rules {
    family: Family::C,
    languages: &["c", "cpp"],
    modules,
    package: |_| Some(String::new()),
    in_package,
    separator: "::",
    sight: Sight::Included,
    members_visible: true,
    exported: |_, _| true,
    merging: Merging::InPackage,
    free_names: FreeNames::Builtin,
    content_members: &["at", "back", "front", "get", "lock", "top", "value"],
    builtin_members: BUILTIN_MEMBERS,
    ..DEFAULT
};

/// Maximum number of files that one `#include` can mean.
const FILES_MAX: usize = 4;

/// Finds the file that an `#include` names: beside the file, or else the nearest whose path ends so. `::a::b` is a namespace.
fn modules<'p>(repository: &Repository, from: u32, path: &'p str) -> Vec<Located<'p>> {
    if let Some(namespace) = path.strip_prefix("::") {
        let packages = repository.packages();
        // It may be relative to the enclosing namespaces.
        let found =
            packages.find(Family::C, namespace).or_else(|| packages.ending_with(Family::C, namespace));
        return found.map(|package| Located::whole(Module::Package(package))).into_iter().collect();
    }
    let paths = &repository.paths;
    let is_quoted = !path.starts_with('<');
    let path = path.trim_start_matches('<').trim_end_matches('>');
    let beside = relative(folder(paths.path(from)), path).filter(|_| is_quoted);
    if let Some(file) = beside.and_then(|beside| paths.file(Family::C, &beside)) {
        return vec![Located::whole(Module::File(file))];
    }
    let end = path.trim_start_matches("./").trim_start_matches("../");
    let mut found = paths.nearest(from, paths.ending_with(Family::C, end));
    found.truncate(FILES_MAX);
    found.into_iter().map(|file| Located::whole(Module::File(file))).collect()
}

/// Checks whether a symbol is seen in other files: types and macros of a file that is not included are its own; functions and variables are
/// linked unless they are `static`.
fn in_package(file: &SourceFile, symbol: &Symbol) -> bool {
    let is_linked = matches!(
        symbol.kind,
        SymbolKind::Function | SymbolKind::Constructor | SymbolKind::Variable | SymbolKind::Namespace
    );
    is_header(&file.path) || (is_linked && symbol.exported)
}

/// Members of the containers and strings of the standard library.
const BUILTIN_MEMBERS: &[&str] = &[
    "append", "assign", "at", "back", "begin", "c_str", "capacity", "cbegin", "cend", "clear", "close",
    "compare", "count", "data", "emplace", "emplace_back", "empty", "end", "erase", "fail", "find", "first",
    "flush", "front", "get", "good", "insert", "is_open", "join", "length", "load", "lock", "max_size",
    "notify_all", "notify_one", "open", "pop", "pop_back", "pop_front", "push", "push_back", "push_front",
    "rbegin", "read", "release", "rend", "reserve", "reset", "resize", "rfind", "second", "seekg", "size",
    "store", "str", "substr", "swap", "tellg", "top", "unlock", "value", "wait", "write",
];
