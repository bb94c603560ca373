//! The facts about a repository that gates need. Gates ask an [`Evidence`], so that they can be tested without a database.

mod left_out;
mod names;
mod questions;
mod repository;

#[cfg(test)]
pub(crate) mod tests;

use std::collections::{BTreeMap, BTreeSet};

use languages::risk;

pub use left_out::UnindexedPaths;
pub use names::{CodeName, is_multiword, name_in, path_in_code};
pub use questions::Questions;
pub(crate) use questions::is_readme;
pub use repository::{RepositoryBuilder, RepositoryFacts};

use crate::licence::Licence;
use crate::manifest::{Commands, Package};

/// A definition of the repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KnownDefinition {
    /// Path of its file.
    pub path: String,
    /// Line of its name, 1-based.
    pub line: u32,
    /// Simple name.
    pub name: String,
    /// Name, qualified with those of the enclosing definitions.
    pub qualified: String,
    /// `function`, `class`, `method` …
    pub kind: String,
    /// `true` if other files can use it; `None` if that is unknown.
    pub is_exported: Option<bool>,
}

/// Untrusted input or a dangerous operation near a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRisk {
    /// The impact.
    pub severity: risk::Severity,
    /// Names of the dangerous operations, sorted.
    pub operations: Vec<String>,
}

/// Facts about a repository at one commit.
pub trait Evidence {
    /// Returns the name of the repository: that of its folder after cloning.
    fn name(&self) -> Option<&str>;

    /// Checks whether the index has a file or folder.
    fn exists(&self, path: &str) -> bool;

    /// Checks whether the index omits a path although the repository may have it: links, submodules, vendored and ignored files.
    fn is_left_out(&self, path: &str) -> bool;

    /// Checks whether a file or folder may exist. A page that names it is wrong only if this is `false`.
    fn may_exist(&self, path: &str) -> bool {
        self.exists(path) || self.is_left_out(path)
    }

    /// Returns `true` if all paths are known. Otherwise any path may exist.
    fn has_all_paths(&self) -> bool;

    /// Checks whether there is a file or folder with this path, or whose path ends with it.
    fn has_path_ending(&self, path: &str) -> bool;

    /// Returns the whole text of an indexed file; also `None` for files that were not asked for ([`Questions::texts`]).
    fn text(&self, path: &str) -> Option<&str>;

    /// Checks whether the index has the text of a file.
    fn is_indexed(&self, path: &str) -> bool;

    /// Returns the paths of the indexed files, sorted.
    fn indexed_files(&self) -> Vec<&str>;

    /// Returns lines of a file, joined by line feeds; `None` if the file has no such lines, or was not asked for.
    fn lines(&self, path: &str, first: u32, last: u32) -> Option<String> {
        let text = self.text(path)?;
        let count = last.checked_sub(first)?.checked_add(1)?;
        let skipped = usize::try_from(first.checked_sub(1)?).ok()?;
        let lines: Vec<&str> = text.lines().skip(skipped).take(usize::try_from(count).ok()?).collect();
        (u32::try_from(lines.len()) == Ok(count)).then(|| lines.join("\n"))
    }

    /// Returns the definitions with this simple name, in exactly this spelling.
    fn definitions(&self, name: &str) -> &[KnownDefinition];

    /// Checks whether code, configuration or a path contains this name, in any naming style. Only for names that were asked for
    /// ([`Questions::names`]); `true` for all others, because nothing is known about them.
    fn mentions(&self, name: &str) -> bool;

    /// Returns the risk at a definition.
    fn risk_at(&self, path: &str, line: u32) -> Option<&KnownRisk>;

    /// Returns the licence.
    fn licence(&self) -> Option<&Licence>;

    /// Returns the packages that it contains.
    fn packages(&self) -> &[Package];

    /// Returns the commands that its manifests name.
    fn commands(&self) -> &Commands;

    /// Returns the ids of the programming languages of its files, with the number of files.
    fn code_languages(&self) -> &BTreeMap<String, u32>;

    /// Returns the public definitions, sorted; empty unless they were asked for ([`Questions::public_definitions`]).
    fn public_definitions(&self) -> &BTreeSet<KnownDefinition>;
}
