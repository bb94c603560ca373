//! What gates need to know of a repository. They ask an [`Evidence`], so that they can be tested without a database.

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
    /// Whether other files can use it; `None` if that is unknown.
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

/// What is known of a repository at one commit.
pub trait Evidence {
    /// The name of the repository, as its folder is called after it was cloned.
    fn name(&self) -> Option<&str>;

    /// Whether the index has a file or folder.
    fn exists(&self, path: &str) -> bool;

    /// Whether the index leaves out what is at a path although the repository may have it: links, submodules, vendored and ignored
    /// files.
    fn is_left_out(&self, path: &str) -> bool;

    /// Whether a file or folder exists as far as anybody can tell; only if not, a page is wrong that names it.
    fn may_exist(&self, path: &str) -> bool {
        self.exists(path) || self.is_left_out(path)
    }

    /// Whether all paths are known; else every path exists as far as anybody can tell.
    fn has_all_paths(&self) -> bool;

    /// Whether the path of a file or folder is this one or ends with it.
    fn has_path_ending(&self, path: &str) -> bool;

    /// The whole text of a file that the index has; `None` also for files that nobody asked for ([`Questions::texts`]).
    fn text(&self, path: &str) -> Option<&str>;

    /// Whether the index has the text of a file.
    fn is_indexed(&self, path: &str) -> bool;

    /// Paths of the files that the index has, sorted.
    fn indexed_files(&self) -> Vec<&str>;

    /// Lines of a file, joined by line feeds; `None` if the file has no such lines, or nobody asked for it.
    fn lines(&self, path: &str, first: u32, last: u32) -> Option<String> {
        let text = self.text(path)?;
        let count = last.checked_sub(first)?.checked_add(1)?;
        let skipped = usize::try_from(first.checked_sub(1)?).ok()?;
        let lines: Vec<&str> = text.lines().skip(skipped).take(usize::try_from(count).ok()?).collect();
        (u32::try_from(lines.len()) == Ok(count)).then(|| lines.join("\n"))
    }

    /// The definitions with this simple name, in the way that it is written.
    fn definitions(&self, name: &str) -> &[KnownDefinition];

    /// Whether code, configuration or a path contains this name, in any style of writing it. Only for names that were asked for
    /// ([`Questions::names`]); true for all others, because nothing is known of them.
    fn mentions(&self, name: &str) -> bool;

    /// The risk at a definition.
    fn risk_at(&self, path: &str, line: u32) -> Option<&KnownRisk>;

    /// The licence.
    fn licence(&self) -> Option<&Licence>;

    /// The packages that it contains.
    fn packages(&self) -> &[Package];

    /// The commands that its manifests name.
    fn commands(&self) -> &Commands;

    /// Ids of the programming languages of its files, with the number of files.
    fn code_languages(&self) -> &BTreeMap<String, u32>;

    /// The definitions that others can use, sorted; empty unless they were asked for ([`Questions::public_definitions`]).
    fn public_definitions(&self) -> &BTreeSet<KnownDefinition>;
}
