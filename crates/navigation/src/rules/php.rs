//! PHP: files declare namespaces, and `use` imports from them; functions are also looked for in the global one.

use super::{DEFAULT, Family, FreeNames, Located, Rules};
use crate::repository::Repository;
use crate::value::Module;

pub(super) const RULES: Rules = Rules {
    family: Family::Php,
    languages: &["php"],
    modules,
    package: |file| Some(file.interface.package.clone().unwrap_or_default()),
    separator: "\\",
    root_package: true,
    free_names: FreeNames::Builtin,
    constructors: &["__construct"],
    ..DEFAULT
};

/// Finds the namespace of a path; the separator alone is the global one.
fn modules<'p>(repository: &Repository, _: u32, path: &'p str) -> Vec<Located<'p>> {
    let found = repository.packages().find(Family::Php, path.trim_matches('\\'));
    found.map(|package| Located::whole(Module::Package(package))).into_iter().collect()
}
