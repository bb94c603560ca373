//! Go: a package is a folder, and its tests may be a package of their own.

mod modules;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use languages::symbols::{Import, Interface};

use modules::Evidence;

use super::{DEFAULT, Family, FreeNames, Located, Rules};
use crate::paths::folder;
use crate::repository::Repository;
use crate::source_file::SourceFile;
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

/// The folders that are packages, and the modules to which they belong.
#[derive(Debug, Default)]
pub(crate) struct Folders {
    /// The package that is imported from each folder.
    packages: HashMap<String, String>,
    modules: Vec<modules::Module>,
}

impl Folders {
    fn new(repository: &Repository) -> Self {
        let is_go = |file: &&SourceFile| file.language == "go";
        let mut packages: HashMap<String, String> = HashMap::new();
        for file in repository.files().iter().filter(is_go) {
            let Some(package) = file.interface.package.as_deref() else { continue };
            let known = packages.entry(folder(&file.path).to_owned()).or_default();
            // The folder of a package can also contain a program, for a build of its own.
            if !package.ends_with("_test") && (known.is_empty() || known == "main") {
                package.clone_into(known);
            }
        }
        packages.retain(|_, package| !package.is_empty());
        let mut imports: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for file in repository.files().iter().filter(is_go) {
            for path in file.interface.imports.iter().map(|row| module(&file.interface, row)) {
                imports.entry(path).or_default().insert(folder(&file.path));
            }
        }
        let modules = Evidence { packages: &packages, imports }.modules();
        Self { packages, modules }
    }

    /// Returns the folder that an import path names in a file of a folder.
    fn find(&self, from: &str, path: &str) -> Option<String> {
        let found = self.modules.iter().filter_map(|module| {
            let folder = module.folder(path).filter(|folder| self.packages.contains_key(folder))?;
            Some((module.rank(from), folder))
        });
        found.max().map(|(_, folder)| folder)
    }
}

fn module<'i>(interface: &'i Interface, import: &Import) -> &'i str {
    interface.arena.text(import.module)
}

/// Returns the name of a package in the repository.
fn package(folder: &str, name: &str) -> String {
    format!("{folder}:{name}")
}

fn modules<'p>(repository: &Repository, from: u32, path: &'p str) -> Vec<Located<'p>> {
    let folders = repository.go.get_or_init(|| Folders::new(repository));
    let found = match path.strip_prefix('.') {
        Some(_) => crate::paths::relative(folder(repository.paths.path(from)), path),
        None => folders.find(folder(repository.paths.path(from)), path),
    };
    let Some(found) = found else { return Vec::new() };
    let name = folders.packages.get(&found).map(|name| package(&found, name));
    let package = name.and_then(|name| repository.packages().find(Family::Go, &name));
    package.map(|package| Located::whole(Module::Package(package))).into_iter().collect()
}

/// Methods of the interfaces that the standard library uses for everything, and of what is used most.
const BUILTIN_MEMBERS: &[&str] = &[
    "Add", "Bytes", "Close", "Context", "Done", "Err", "Error", "Errorf", "Fatal", "Fatalf", "Flush",
    "Format", "Get", "Len", "Less", "Lock", "Log", "Logf", "Name", "Printf", "Println", "RLock", "RUnlock",
    "Read", "Run", "Scan", "Seek", "Set", "String", "Swap", "Text", "Unlock", "Unwrap", "Value", "Wait",
    "Write", "WriteString",
];
