//! The files of a repository that hold instructions. A name that occurs only in them is no evidence that the code has it: a rule must
//! not prove itself.

use std::collections::HashSet;

use crate::agents::is_read_by_agents;
use crate::entry::is_id;
use crate::files::{CATALOG_FILE, CRITERIA_FILE, GATES_FILE};

/// A file that makes its folder the folder of a skill.
const SKILL_FILE: &str = "SKILL.md";

/// The files of one repository that hold instructions, complete once [`RuleFiles::add`] has seen all its paths.
#[derive(Debug, Default)]
pub struct RuleFiles {
    /// Folders of entries: those with a `catalog.json`, as an export writes them, and the one that is bound to the project.
    entries: HashSet<String>,
    /// Folders of skills.
    skills: HashSet<String>,
}

impl RuleFiles {
    /// Records a file of the repository, by its path relative to the root.
    pub fn add(&mut self, path: &str) {
        let (folder, name) = split(path);
        match name {
            CATALOG_FILE => self.entries.insert(folder.to_owned()),
            SKILL_FILE if !folder.is_empty() => self.skills.insert(folder.to_owned()),
            _ => false,
        };
    }

    /// Records a folder of entries, by its path relative to the root; empty if it is the root.
    pub fn add_bound_folder(&mut self, folder: &str) {
        self.entries.insert(folder.to_owned());
    }

    /// Checks whether the file holds instructions. `is_entry` says whether an id is that of an entry of the catalog.
    #[must_use]
    pub fn contain(&self, path: &str, is_entry: impl Fn(&str) -> bool) -> bool {
        let (folder, name) = split(path);
        let is_of_entries = || match name.rsplit_once('.') {
            _ if matches!(name, CATALOG_FILE | GATES_FILE | CRITERIA_FILE) => true,
            Some((id, "md")) => is_id(id),
            // `package.json` has the name of an entry as well.
            Some((id, "json")) => is_entry(id),
            _ => false,
        };
        is_read_by_agents(path)
            || (self.entries.contains(folder) && is_of_entries())
            || (name.ends_with(".md") && folders_of(folder).any(|folder| self.skills.contains(folder)))
    }
}

/// Splits a path into its folder, empty at the root, and the name of the file.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Returns the folder and its parents, without the root.
fn folders_of(folder: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(folder), |folder| Some(folder.rsplit_once('/')?.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_distinguished_from_the_files_that_they_are_about() {
        let mut files = RuleFiles::default();
        for path in ["rules/catalog.json", "rules/a.md", ".claude/skills/pdf/SKILL.md", "src/main.rs"] {
            files.add(path);
        }
        files.add_bound_folder("team/bound");
        let holds = |path: &str| files.contain(path, |id| id == "known");
        for path in [
            "AGENTS.md",
            "rules/a.md",
            "rules/known.json",
            "rules/catalog.json",
            "rules/gates.json",
            "team/bound/b.md",
            ".claude/skills/pdf/reference/forms.md",
        ] {
            assert!(holds(path), "{path}");
        }
        for path in [
            "src/main.rs", "README.md", "rules/README.md", "rules/package.json", "rules/deep/a.md",
            "rules/a.rs", "other/a.md", "other/gates.json", "team/bound/README.md", "team/bound/deep/b.md",
            ".claude/skills/pdf/fill.py", ".claude/skills/other.md",
        ] {
            assert!(!holds(path), "{path}");
        }
    }
}
