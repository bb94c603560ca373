//! Compares a repository with an earlier import of it: sections that people changed in their files, and sections that are gone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use contract::escaped_line;
use instructions::agents::source::{Drift, drift, file_of, is_from_repository, taken_over};
use instructions::{Instruction, Requirement, Rules, Stored};
use launch::origin::origin_url;
use platform::safe_open::Folder;
use surfaces::cli::shell::{DIM, NOTE, PATH, styled};

/// Largest git configuration that is read, in bytes.
const GIT_CONFIG_BYTES_MAX: u64 = 1 << 20;

/// A section that differs from its entry in the catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChangedSection {
    /// The path of its file.
    pub(super) path: String,
    /// The id of its entry.
    pub(super) id: String,
    /// `true` if people changed the entry, too, so that the catalog stays as it is.
    pub(super) edited: bool,
    /// `true` if the entry now says the same as the section.
    pub(super) updated: bool,
}

/// An entry whose section is no longer in its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct VanishedSection {
    /// The path of the file.
    pub(super) path: String,
    /// The id of the entry.
    pub(super) id: String,
}

/// The differences between a repository and what was imported from it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Drifted {
    pub(super) changed: Vec<ChangedSection>,
    pub(super) vanished: Vec<VanishedSection>,
    /// The new versions of the entries that changed only in their files.
    pub(super) updates: Vec<Value>,
}

/// The files of a repository, from which missing sections are deduced.
pub(super) struct ReadPaths<'a> {
    /// Files whose sections were read.
    pub(super) read: BTreeSet<&'a str>,
    /// Files that exist and were not read.
    pub(super) unread: BTreeSet<&'a str>,
    /// `true` if all files were found.
    pub(super) is_complete: bool,
}

/// Returns the identity of a repository: the address from which it was cloned, or else its path.
pub(super) fn identity(root: &Path) -> String {
    let config =
        Folder::open(root).ok().and_then(|folder| folder.read(".git/config", GIT_CONFIG_BYTES_MAX).ok());
    let origin = config.and_then(|config| origin_url(&String::from_utf8_lossy(&config)));
    origin.unwrap_or_else(|| root.to_string_lossy().into_owned())
}

/// Compares the entries of a repository, each with its file, with the catalog.
pub(super) fn drifted(
    entries: &[(String, Value)],
    catalog: &[Stored],
    paths: &ReadPaths<'_>,
    repository_key: &str,
) -> Drifted {
    let known: BTreeMap<&str, &Stored> =
        catalog.iter().map(|stored| (stored.instruction.id.as_str(), stored)).collect();
    let mut found = Drifted::default();
    let mut given = BTreeSet::new();
    // Files with an entry that is as it was imported: they belong to the earlier import.
    let mut recognised = BTreeSet::new();
    for (path, entry) in entries {
        let Ok(checked) = Instruction::check(entry.clone(), &Rules::default()) else { continue };
        let section = checked.instruction;
        if let Some(stored) = known.get(section.id.as_str()) {
            match drift(stored, &section) {
                None => {
                    recognised.insert(path.as_str());
                }
                Some(drift) => {
                    let edited = drift == Drift::InBoth;
                    if !edited {
                        found.updates.push(taken_over(stored, entry.clone()));
                    }
                    let (path, id) = (path.clone(), section.id.clone());
                    found.changed.push(ChangedSection { path, id, edited, updated: false });
                }
            }
        }
        given.insert(section.id);
    }
    for stored in catalog {
        let entry = &stored.instruction;
        let Some(path) = file_of(entry).filter(|_| entry.requirement != Requirement::Deprecated) else {
            continue;
        };
        let is_missing = match is_from_repository(entry, repository_key) {
            Some(is_own) => is_own && (paths.read.contains(path.as_str()) || paths.is_complete),
            // An earlier version of this program imported it; other repositories have files with this name, too.
            None => recognised.contains(path.as_str()),
        };
        if is_missing && !given.contains(&entry.id) && !paths.unread.contains(path.as_str()) {
            found.vanished.push(VanishedSection { path, id: entry.id.clone() });
        }
    }
    found
}

/// Formats the lines about changed and vanished sections.
pub(super) fn render(changed: &[ChangedSection], vanished: &[VanishedSection]) -> String {
    let mut text = String::new();
    let mut push = |mark: &str, path: &str, id: &str, what: &str| {
        let (path, id) = (styled(PATH, &escaped_line(path)), escaped_line(id));
        text.push_str(&format!("{} {path}: {id} {}\n", styled(NOTE, mark), styled(DIM, what)));
    };
    for ChangedSection { path, id, edited, updated } in changed {
        let what = match (updated, edited) {
            (true, _) => "was changed in the file, and now in the catalog",
            (false, true) => {
                "was changed in the file, and in the catalog, which stays as it is; --overwrite replaces it"
            }
            (false, false) => {
                "was changed in the file; the catalog still has the old text; --update takes the new one"
            }
        };
        push("~", path, id, what);
    }
    for VanishedSection { path, id } in vanished {
        push("-", path, id, "is not in the file any more; the catalog keeps it until `instructions remove`");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use instructions::agents::import;
    use instructions::agents::source::{add_source, repository_key};

    fn entries(path: &str, text: &str, repository: &str) -> Vec<(String, Value)> {
        let with_source = |mut entry: Value| {
            let section = Instruction::check(entry.clone(), &Rules::default()).unwrap().instruction;
            add_source(&mut entry, &section, &repository_key(repository));
            (path.to_owned(), entry)
        };
        import(path, text).unwrap().entries.into_iter().map(with_source).collect()
    }

    fn catalog(entries: &[(String, Value)]) -> Vec<Stored> {
        let stored = |(_, entry): &(String, Value)| Stored {
            instruction: Instruction::check(entry.clone(), &Rules::default()).unwrap().instruction,
            source_hash: [0; 32],
            meta_hash: [0; 32],
            created_ms: 1,
            updated_ms: 1,
        };
        entries.iter().map(stored).collect()
    }

    fn ids(found: &Drifted) -> (Vec<&str>, Vec<&str>) {
        let changed = found.changed.iter().map(|one| one.id.as_str()).collect();
        (changed, found.vanished.iter().map(|one| one.id.as_str()).collect())
    }

    #[test]
    fn only_the_same_repository_misses_its_sections() {
        let known = catalog(&entries("AGENTS.md", "## A\n\na\n\n## B\n\nb\n", "one"));
        let now = |text: &str, repository: &str, read: &[&'static str], unread: &[&'static str]| {
            let paths = ReadPaths {
                read: read.iter().copied().collect(),
                unread: unread.iter().copied().collect(),
                is_complete: true,
            };
            drifted(&entries("AGENTS.md", text, repository), &known, &paths, &repository_key(repository))
        };
        let all = ["AGENTS.md"];
        assert_eq!(ids(&now("## A\n\na\n\n## B\n\nb\n", "one", &all, &[])), (vec![], vec![]));
        assert_eq!(ids(&now("## A\n\nnew\n", "one", &all, &[])), (vec!["agents-a"], vec!["agents-b"]));
        assert_eq!(
            ids(&now("", "one", &[], &[])),
            (vec![], vec!["agents-a", "agents-b"]),
            "the file is gone"
        );
        assert_eq!(ids(&now("", "one", &[], &all)), (vec![], vec![]), "it was generated");
        assert_eq!(ids(&now("## C\n\nc\n", "two", &all, &[])), (vec![], vec![]), "those of another one stay");
    }
}
