//! Go: a package is a folder, and its tests may be a package of their own.
//!
//! The module's path stands in `go.mod`, which is not read. It is what most imports have before the path of a folder.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use languages::symbols::{Import, Interface};

use super::{DEFAULT, Family, FreeNames, Located, Rules};
use crate::paths::folder;
use crate::repository::{Repository, SourceFile};
use crate::value::Module;

pub(super) const RULES: Rules = Rules {
    family: Family::Go,
    languages: &["go"],
    modules,
    package: |file| Some(package(folder(&file.path), file.interface.package.as_deref().unwrap_or_default())),
    separator: "/",
    free_names: FreeNames::Builtin,
    locals_in_order: true,
    bases_by_scope: true,
    builtin_members: BUILTIN_MEMBERS,
    ..DEFAULT
};

/// Most elements of an import path.
const ELEMENTS_MAX: usize = 64;

/// The folders that are packages, and what stands before them in imports.
#[derive(Debug, Default)]
pub(crate) struct Folders {
    /// The package that is imported from each folder.
    packages: HashMap<String, String>,
    /// What imports have before the path of a folder: the paths of modules.
    prefixes: BTreeSet<String>,
}

impl Folders {
    fn new(repository: &Repository) -> Self {
        let is_go = |file: &&SourceFile| file.language == "go";
        let mut packages: HashMap<String, String> = HashMap::new();
        for file in repository.files().iter().filter(is_go) {
            let Some(package) = file.interface.package.as_deref() else { continue };
            let known = packages.entry(folder(&file.path).to_owned()).or_default();
            // A program can stand in the folder of a package, for a build of its own.
            if !package.ends_with("_test") && (known.is_empty() || known == "main") {
                package.clone_into(known);
            }
        }
        packages.retain(|_, package| !package.is_empty());
        let mut folders = Self { packages, prefixes: BTreeSet::new() };
        let mut votes: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for file in repository.files().iter().filter(is_go) {
            for path in file.interface.imports.iter().map(|row| module(&file.interface, row)) {
                for (prefix, folder) in folders.splits(path) {
                    votes.entry(prefix.to_owned()).or_default().insert(folder);
                }
            }
        }
        let most = votes.iter().max_by_key(|(prefix, folders)| (folders.len(), prefix.contains('.')));
        if let Some((best, _)) = most {
            let owner = owner(best).to_owned();
            let best = best.clone();
            // Other modules of the repository most often have the same owner.
            let same =
                |prefix: &String| *prefix == best || (prefix.contains('.') && self::owner(prefix) == owner);
            folders.prefixes = votes.into_keys().filter(same).collect();
        }
        folders
    }

    /// The ways to cut an import path into the path of a module and a folder of the repository.
    fn splits<'p>(&self, path: &'p str) -> Vec<(&'p str, &'p str)> {
        let mut splits = Vec::new();
        for (at, _) in path.match_indices('/').take(ELEMENTS_MAX) {
            let (prefix, folder) = (&path[..at], &path[at + 1..]);
            if self.packages.contains_key(folder) {
                splits.push((prefix, folder));
            }
        }
        // The root is imported by the path of the module, whose last element is most often its name.
        let root = self.packages.get("");
        if root.is_some_and(|root| names_package(path, root)) {
            splits.push((path, ""));
        }
        splits
    }
}

/// Whether the package that an import path names probably has this name.
fn names_package(path: &str, package: &str) -> bool {
    let mut last = path.rsplit('/').take(2);
    path.contains('.')
        && last.any(|element| element.trim_start_matches("go-").split('.').next() == Some(package))
}

/// The first two elements of a path: the host and who owns the repository.
fn owner(path: &str) -> &str {
    path.match_indices('/').nth(1).map_or(path, |(at, _)| &path[..at])
}

fn module<'i>(interface: &'i Interface, import: &Import) -> &'i str {
    interface.arena.text(import.module)
}

/// The name of a package in the repository.
fn package(folder: &str, name: &str) -> String {
    format!("{folder}:{name}")
}

fn modules<'p>(repository: &Repository, from: u32, path: &'p str) -> Vec<Located<'p>> {
    let folders = repository.go.get_or_init(|| Folders::new(repository));
    let found = match path.strip_prefix('.') {
        Some(_) => crate::paths::relative(folder(repository.paths.path(from)), path),
        None => {
            let known =
                folders.splits(path).into_iter().find(|(prefix, _)| folders.prefixes.contains(*prefix));
            known.map(|(_, folder)| folder.to_owned())
        }
    };
    let Some(found) = found else { return Vec::new() };
    let name = folders.packages.get(&found).map(|name| package(&found, name));
    let package = name.and_then(|name| repository.packages().find(Family::Go, &name));
    package.map(|package| Located::whole(Module::Package(package))).into_iter().collect()
}

/// Methods of the interfaces that the standard library uses for everything, and of what is used most.
const BUILTIN_MEMBERS: &[&str] = &[
    "Add",
    "Bytes",
    "Close",
    "Context",
    "Done",
    "Err",
    "Error",
    "Errorf",
    "Fatal",
    "Fatalf",
    "Flush",
    "Format",
    "Get",
    "Len",
    "Less",
    "Lock",
    "Log",
    "Logf",
    "Name",
    "Printf",
    "Println",
    "RLock",
    "RUnlock",
    "Read",
    "Run",
    "Scan",
    "Seek",
    "Set",
    "String",
    "Swap",
    "Text",
    "Unlock",
    "Unwrap",
    "Value",
    "Wait",
    "Write",
    "WriteString",
];
