//! Finds the files of a repository that agents read.

use std::collections::HashMap;
use std::path::Path;

use serde::Serialize;

use contract::{Fault, config, escaped_line};
use engine::indexing::{SkipReason, list_files};
use instructions::agents::{AgentFormat, is_generated};
use platform::safe_open::{EntryKind, Folder, ReadError};

/// Maximum depth of the folders that are searched.
const DEPTH_MAX: usize = 16;
/// Size limit of a file that is read, in bytes.
pub(super) const FILE_BYTES_MAX: u64 = 1 << 20;

/// A file that agents read.
pub(super) struct AgentFile {
    /// Path relative to the root, with `/` as separator.
    pub(super) path: String,
    /// The format of the file.
    pub(super) format: &'static AgentFormat,
    /// The text of the file.
    pub(super) text: String,
}

impl AgentFile {
    /// Returns `true` if an export wrote the file.
    pub(super) fn is_generated(&self) -> bool {
        is_generated(&self.text)
    }
}

/// A file that agents read but this command does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct PassedOver {
    /// Path relative to the root.
    pub(super) path: String,
    /// The reason, as the end of a sentence.
    pub(super) reason: String,
}

/// The files of a repository that agents read.
#[derive(Default)]
pub(super) struct AgentFiles {
    /// Files that could be read, sorted by path.
    pub(super) files: Vec<AgentFile>,
    /// Files that could not be read.
    pub(super) passed_over: Vec<PassedOver>,
    /// Reasons why files may be missing, as sentences.
    pub(super) incomplete: Vec<String>,
}

/// Finds the files below `root`, a path without links. Ignored and vendored folders and nested repositories are skipped; links
/// are not followed. Blocks the thread.
///
/// # Errors
/// `NOT_FOUND` or `FORBIDDEN` if the root cannot be read.
pub(super) fn find_agent_files(root: &Path, settings: &config::Indexing) -> Result<AgentFiles, Fault> {
    let depth = settings.walk_depth_max.min(DEPTH_MAX);
    let settings = config::Indexing { walk_depth_max: depth, ..settings.clone() };
    let listed = list_files(root, &settings)?;
    let folder = Folder::open(root).map_err(|error| {
        Fault::internal(
            format!("The folder {} cannot be opened.", escaped_line(&root.to_string_lossy())),
            error,
        )
    })?;
    let mut found = AgentFiles { incomplete: listed.incomplete, ..AgentFiles::default() };
    let mut other = OtherRepositories { root: &folder, known: HashMap::new() };
    for path in listed.files {
        let Some(format) = AgentFormat::of_path(&path) else { continue };
        if other.contain(&path) {
            continue;
        }
        match read(&folder, &path) {
            Ok(text) => found.files.push(AgentFile { path, format, text }),
            Err(reason) => found.passed_over.push(PassedOver { path, reason }),
        }
    }
    let named = |path: &String| AgentFormat::of_path(path).is_some();
    for (path, reason) in listed.skipped.into_iter().filter(|(path, _)| named(path)) {
        if other.contain(&path) {
            continue;
        }
        let reason = match reason {
            SkipReason::Link => "it is a link, and links are not followed",
            _ => "it is not a regular file",
        };
        found.passed_over.push(PassedOver { path, reason: reason.to_owned() });
    }
    Ok(found)
}

fn read(folder: &Folder, path: &str) -> Result<String, String> {
    let bytes = folder.read(path, FILE_BYTES_MAX).map_err(|error| match error {
        ReadError::TooLarge => format!("it has more than {FILE_BYTES_MAX} bytes"),
        _ => "it cannot be read".to_owned(),
    })?;
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

/// Repositories inside the root, such as submodules: their rules are their own.
struct OtherRepositories<'a> {
    root: &'a Folder,
    /// Folders that are already known to be in another repository, or not to be.
    known: HashMap<String, bool>,
}

impl OtherRepositories<'_> {
    fn contain(&mut self, path: &str) -> bool {
        let mut at = 0;
        while let Some(slash) = path[at..].find('/') {
            at += slash + 1;
            let folder = &path[..at - 1];
            let is_other = match self.known.get(folder) {
                Some(known) => *known,
                None => {
                    let is_other = self.is_root(folder);
                    self.known.insert(folder.to_owned(), is_other);
                    is_other
                }
            };
            if is_other {
                return true;
            }
        }
        false
    }

    /// Returns `true` if this folder has a `.git`, which is a file in a submodule.
    fn is_root(&self, path: &str) -> bool {
        let mut opened = path.split('/').map(str::to_owned);
        let first = opened.next().unwrap_or_default();
        let folder = self.root.open_folder(first);
        let folder = opened.try_fold(folder, |folder, name| Some(folder.ok()?.open_folder(name)));
        let git = folder.and_then(Result::ok).and_then(|folder| folder.entry_kind(".git"));
        matches!(git, Some(EntryKind::Folder | EntryKind::File))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn paths(found: &AgentFiles) -> Vec<&str> {
        found.files.iter().map(|file| file.path.as_str()).collect()
    }

    #[test]
    fn files_of_agents_are_found_where_they_belong_to_the_repository() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &[u8]| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for path in [
            "AGENTS.md",
            "web/AGENTS.md",
            ".cursor/rules/a.mdc",
            ".github/copilot-instructions.md",
            ".claude/skills/pdf/SKILL.md",
            "README.md",
            "node_modules/x/AGENTS.md",
            "ignored/AGENTS.md",
            "sub/AGENTS.md",
            "sub/deep/AGENTS.md",
        ] {
            write(path, b"# Rule\n\nText.\n");
        }
        write(".gitignore", b"ignored/\n");
        write("sub/.git", b"gitdir: ../.git/modules/sub\n");
        write("latin/AGENTS.md", b"\xff");
        write("large/AGENTS.md", &vec![b'x'; (1 << 20) + 1]);
        symlink("AGENTS.md", root.path().join("CLAUDE.md")).unwrap();
        let pipe = root.path().join("web/CLAUDE.md");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        let settings = contract::config::fuzzing::defaults().indexing.clone();
        let found = find_agent_files(&root.path().canonicalize().unwrap(), &settings).unwrap();
        assert_eq!(
            paths(&found),
            [
                ".claude/skills/pdf/SKILL.md",
                ".cursor/rules/a.mdc",
                ".github/copilot-instructions.md",
                "AGENTS.md",
                "web/AGENTS.md"
            ]
        );
        let passed: Vec<String> =
            found.passed_over.iter().map(|passed| format!("{}: {}", passed.path, passed.reason)).collect();
        assert_eq!(
            passed,
            [
                "large/AGENTS.md: it has more than 1048576 bytes",
                "latin/AGENTS.md: it is not UTF-8",
                "CLAUDE.md: it is a link, and links are not followed",
                "web/CLAUDE.md: it is not a regular file"
            ]
        );
        assert!(found.incomplete.is_empty());
    }
}
