//! The rules of the ignore files in a directory and in the directories above it, with git's semantics.
//!
//! Ignore files belong to the untrusted repository, so they are read like its other files: beneath the root, never through a link,
//! and with size limits, because a compiled rule needs about a hundred times its length.

use std::path::Path;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use history::GitDirectory;
use platform::safe_open::{EntryKind, Folder, ReadError};

/// Name of the product's own ignore file, which has the syntax of `.gitignore`.
pub(super) const IGNORE_FILE: &str = ".pairofcleatsignore";
/// Name of git's ignore file.
const GIT_IGNORE_FILE: &str = ".gitignore";
/// The clone's local ignore file, below the git directory.
const EXCLUDE_FILE: &str = "info/exclude";
/// Name of the git directory, or of the file that points to it.
pub(super) const GIT_DIR: &str = ".git";

/// Largest ignore file in bytes.
const FILE_BYTES_MAX: u64 = 256 << 10;
/// Maximum bytes of rules that apply to one directory, including those of the directories above.
const RULES_BYTES_MAX: usize = 512 << 10;
/// Longest rule in bytes; longer ones are ignored.
const RULE_BYTES_MAX: usize = 1024;
/// Maximum number of rejected ignore files with a note.
const NOTES_MAX: usize = 20;

/// The rules that apply to a directory, outermost directory first.
#[derive(Debug, Default)]
pub(super) struct IgnoreRules {
    levels: Vec<DirectoryRules>,
    /// Total bytes of the rules in `levels`.
    bytes: usize,
    /// Notes about rejected ignore files, one sentence each.
    pub(super) rejected: Vec<String>,
    /// Number of rejected files without a note.
    rejected_without_note: usize,
}

/// The rules of one directory.
#[derive(Debug, Default)]
struct DirectoryRules {
    /// The rules of [`IGNORE_FILE`].
    product: Option<Gitignore>,
    git: Option<Gitignore>,
    exclude: Option<Gitignore>,
    /// Whether the directory is the root of a git repository; git rules of the directories above do not apply to it.
    is_repository: bool,
    bytes: usize,
}

impl IgnoreRules {
    /// Reads the rules of the directories above `root`, up to the root of its git repository. Empty if `root` is itself
    /// the root of a git repository, or belongs to none.
    pub(super) fn inherited(root: &Path) -> Self {
        let mut rules = Self::default();
        let is_repository = |directory: &Path| directory.join(GIT_DIR).symlink_metadata().is_ok();
        if is_repository(root) {
            return rules;
        }
        let Some(top) = root.ancestors().skip(1).find(|directory| is_repository(directory)) else {
            return rules;
        };
        let mut above: Vec<&Path> =
            root.ancestors().skip(1).take_while(|directory| directory.starts_with(top)).collect();
        above.reverse();
        for directory in above {
            if let Ok(folder) = Folder::open(directory) {
                rules.enter(&folder, directory, &directory.display().to_string());
            }
        }
        rules
    }

    /// Adds the rules of the directory `at`. Notes show it as `display_path`, which is empty for the root.
    pub(super) fn enter(&mut self, folder: &Folder, at: &Path, display_path: &str) {
        let bytes_before = self.bytes;
        let is_repository = folder.entry_kind(GIT_DIR).is_some();
        let mut level = DirectoryRules { is_repository, ..DirectoryRules::default() };
        level.product = self.read(folder, IGNORE_FILE, at, display_path);
        level.git = self.read(folder, GIT_IGNORE_FILE, at, display_path);
        level.exclude = match folder.entry_kind(GIT_DIR) {
            Some(EntryKind::Folder) => {
                let read = folder.read(&format!("{GIT_DIR}/{EXCLUDE_FILE}"), self.bytes_max());
                self.parse_or_note(read, &format!("{GIT_DIR}/{EXCLUDE_FILE}"), at, display_path)
            }
            // A linked work tree uses the exclude file of the main one.
            Some(EntryKind::File) => GitDirectory::find(at, &|_| true).ok().and_then(|git_directory| {
                let read = git_directory.read_common_file(EXCLUDE_FILE, self.bytes_max());
                self.parse_or_note(read, EXCLUDE_FILE, at, display_path)
            }),
            _ => None,
        };
        level.bytes = self.bytes - bytes_before;
        self.levels.push(level);
    }

    /// Removes the rules of the directory that was entered last.
    pub(super) fn leave(&mut self) {
        self.bytes -= self.levels.pop().map_or(0, |level| level.bytes);
    }

    /// Returns whether `path` is ignored. The rules of [`IGNORE_FILE`] take precedence over git's, and the rules of a
    /// directory over those of the directories above.
    pub(super) fn is_ignored(&self, path: &Path, is_folder: bool) -> bool {
        let decision =
            |rules: &Option<Gitignore>| match rules.as_ref().map(|rules| rules.matched(path, is_folder)) {
                Some(Match::Ignore(_)) => Some(true),
                Some(Match::Whitelist(_)) => Some(false),
                Some(Match::None) | None => None,
            };
        let nearest_first = || self.levels.iter().rev();
        let nearest_first_in_repository = || {
            let root = self.levels.iter().rposition(|level| level.is_repository).unwrap_or(0);
            self.levels[root..].iter().rev()
        };
        nearest_first()
            .find_map(|level| decision(&level.product))
            .or_else(|| nearest_first_in_repository().find_map(|level| decision(&level.git)))
            .or_else(|| nearest_first_in_repository().find_map(|level| decision(&level.exclude)))
            .unwrap_or(false)
    }

    /// Returns the notes about rejected ignore files, with the number of further ones.
    pub(super) fn into_notes(mut self) -> Vec<String> {
        if self.rejected_without_note > 0 {
            self.rejected.push(format!(
                "The rules of {} more ignore files were not applied.",
                self.rejected_without_note
            ));
        }
        self.rejected
    }

    fn read(&mut self, folder: &Folder, file: &str, at: &Path, display_path: &str) -> Option<Gitignore> {
        let read = folder.read(file, self.bytes_max());
        self.parse_or_note(read, file, at, display_path)
    }

    fn bytes_max(&self) -> u64 {
        FILE_BYTES_MAX.min((RULES_BYTES_MAX - self.bytes) as u64)
    }

    /// Parses the rules of a file; adds a note if it was rejected.
    fn parse_or_note(
        &mut self,
        read: Result<Vec<u8>, ReadError>,
        file: &str,
        at: &Path,
        display_path: &str,
    ) -> Option<Gitignore> {
        let reason = match read {
            Ok(text) => match parse_rules(&text, at) {
                Ok(rules) => {
                    self.bytes += text.len();
                    return Some(rules).filter(|rules| !rules.is_empty());
                }
                Err(_) => "they exceed the size limit of compiled rules".to_owned(),
            },
            Err(ReadError::NotFound) => return None,
            Err(ReadError::Link) => "it is a symbolic link or below one".to_owned(),
            Err(ReadError::IsFolder | ReadError::NotRegular) => "it is not a regular file".to_owned(),
            Err(ReadError::TooLarge) if self.bytes_max() < FILE_BYTES_MAX => {
                format!("with the rules of the directories above they exceed {RULES_BYTES_MAX} bytes")
            }
            Err(ReadError::TooLarge) => format!("it exceeds {FILE_BYTES_MAX} bytes"),
            Err(ReadError::Unreadable) => "it could not be read".to_owned(),
        };
        if self.rejected.len() < NOTES_MAX {
            let path = Path::new(display_path).join(file);
            self.rejected.push(format!("The rules of `{}` were not applied: {reason}.", path.display()));
        } else {
            self.rejected_without_note += 1;
        }
        None
    }
}

/// Parses the rules of a file in the directory `at`. Like git, ignores invalid lines.
pub(super) fn parse_rules(text: &[u8], at: &Path) -> Result<Gitignore, ignore::Error> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut builder = GitignoreBuilder::new(at);
    let lines = text.split(|byte| *byte == b'\n').filter(|line| line.len() <= RULE_BYTES_MAX);
    for line in lines.filter_map(|line| std::str::from_utf8(line).ok()) {
        let _ = builder.add_line(None, line.trim_end_matches('\r'));
    }
    builder.build()
}
