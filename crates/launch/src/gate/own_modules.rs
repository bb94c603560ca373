//! Finds out which imported modules belong to the repository.

use crate::evidence::Evidence;
use crate::manifest::Ecosystem;
use crate::snippet::module_parts;

/// A module of the repository.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OwnModule<'m> {
    /// The first part of its path that is unknown in the repository.
    pub(super) unknown: Option<&'m str>,
}

/// Looks up a module in the repository; `None` if it belongs to another project, or that cannot be decided.
pub(super) fn own_module<'m>(
    language: &str,
    module: &'m str,
    evidence: &dyn Evidence,
) -> Option<OwnModule<'m>> {
    if module.starts_with('.') {
        return None;
    }
    let parts = module_parts(module);
    let is_package = |ecosystem: Ecosystem, fits: &dyn Fn(&str) -> bool| {
        evidence.packages().iter().any(|package| package.ecosystem == ecosystem && fits(&package.import_name))
    };
    let below = |name: &str, separator: char| {
        module.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(separator))
    };
    let first = *parts.first()?;
    let is_own = match language {
        "rust" => is_package(Ecosystem::Cargo, &|name| name == first),
        "python" => {
            is_package(Ecosystem::Python, &|name| name == first) || is_python_package(first, evidence)
        }
        "javascript" | "typescript" | "tsx" => is_package(Ecosystem::Npm, &|name| below(name, '/')),
        "go" => is_package(Ecosystem::Go, &|name| below(name, '/')),
        "php" => is_package(Ecosystem::Composer, &|name| below(name, '\\')),
        "ruby" => is_package(Ecosystem::Ruby, &|name| below(name, '/')),
        "java" | "kotlin" | "scala" => {
            let folder = parts.get(..2).map(|two| two.join("/"));
            folder.is_some_and(|folder| evidence.has_all_paths() && evidence.has_path_ending(&folder))
        }
        _ => false,
    };
    is_own.then(|| OwnModule { unknown: unknown_part(language, &parts, evidence) })
}

fn is_python_package(name: &str, evidence: &dyn Evidence) -> bool {
    evidence.has_all_paths()
        && [format!("{name}/__init__.py"), format!("src/{name}/__init__.py")]
            .iter()
            .any(|path| evidence.exists(path))
}

/// Returns the first part of a module's path that nothing in the repository is named after. The first part is the package itself. Exports
/// under other names in manifests are not followed.
fn unknown_part<'m>(language: &str, parts: &[&'m str], evidence: &dyn Evidence) -> Option<&'m str> {
    match language {
        "rust" | "python" => {
            let keywords = ["self", "super", "crate", "prelude"];
            parts.iter().skip(1).copied().find(|part| !keywords.contains(part) && !evidence.mentions(part))
        }
        _ => None,
    }
}
