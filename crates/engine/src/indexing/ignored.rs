//! The rules of ignore files, with git's semantics: those of a directory and of the directories above it.
//!
//! Ignore files belong to the untrusted repository, so they are read like its other files: beneath the root, never through a link,
//! and with size limits, because a compiled rule needs about a hundred times its length.

use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use history::Place;
use platform::beneath::{Folder, Kind, Refused};

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
/// Maximum number of rejected ignore files that are named in notes.
const NOTES_MAX: usize = 20;

/// The rules that apply to a directory, outermost directory first.
#[derive(Debug, Default)]
pub(super) struct IgnoreRules {
    levels: Vec<DirectoryRules>,
    /// Total bytes of the rules in `levels`.
    bytes: usize,
    /// Notes about rejected ignore files, one sentence each.
    pub(super) rejected: Vec<String>,
    /// Number of further rejected files.
    rejected_unnamed: usize,
}

/// The rules of one directory.
#[derive(Debug, Default)]
struct DirectoryRules {
    own: Option<Gitignore>,
    git: Option<Gitignore>,
    exclude: Option<Gitignore>,
    /// Whether a repository begins here; git rules from above do not apply to it.
    repository: bool,
    bytes: usize,
}

impl IgnoreRules {
    /// The rules of the directories above a root that is part of a larger work tree; empty for a root that is a repository itself or
    /// belongs to none.
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

    /// Adds the rules of a directory; `at` is its path, `shown` its name in messages, empty for the root.
    pub(super) fn enter(&mut self, folder: &Folder, at: &Path, shown: &str) {
        let before = self.bytes;
        let mut level =
            DirectoryRules { repository: folder.kind(GIT_DIR).is_some(), ..DirectoryRules::default() };
        level.own = self.read(folder, IGNORE_FILE, at, shown);
        level.git = self.read(folder, GIT_IGNORE_FILE, at, shown);
        level.exclude = match folder.kind(GIT_DIR) {
            Some(Kind::Folder) => {
                let read = folder.read(&format!("{GIT_DIR}/{EXCLUDE_FILE}"), self.bytes_max());
                self.parse_or_note(read, &format!("{GIT_DIR}/{EXCLUDE_FILE}"), at, shown)
            }
            // A linked work tree uses the exclude file of the main one.
            Some(Kind::File) => Place::find(at, &|_| true).ok().and_then(|place| {
                let read = place.read_common(EXCLUDE_FILE, self.bytes_max());
                self.parse_or_note(read, EXCLUDE_FILE, at, shown)
            }),
            _ => None,
        };
        level.bytes = self.bytes - before;
        self.levels.push(level);
    }

    /// Removes the rules of the directory that was entered last.
    pub(super) fn leave(&mut self) {
        self.bytes -= self.levels.pop().map_or(0, |level| level.bytes);
    }

    /// Whether `path` is ignored. The product's own rules take precedence over git's, and nearer directories over those above.
    pub(super) fn is_ignored(&self, path: &Path, is_folder: bool) -> bool {
        let decision =
            |rules: &Option<Gitignore>| match rules.as_ref().map(|rules| rules.matched(path, is_folder)) {
                Some(Match::Ignore(_)) => Some(true),
                Some(Match::Whitelist(_)) => Some(false),
                Some(Match::None) | None => None,
            };
        let nearest_first = || self.levels.iter().rev();
        let of_repository = || {
            let reaches = self.levels.iter().rposition(|level| level.repository).unwrap_or(0);
            self.levels[reaches..].iter().rev()
        };
        nearest_first()
            .find_map(|level| decision(&level.own))
            .or_else(|| of_repository().find_map(|level| decision(&level.git)))
            .or_else(|| of_repository().find_map(|level| decision(&level.exclude)))
            .unwrap_or(false)
    }

    /// The notes about rejected ignore files, with the number of unnamed ones.
    pub(super) fn into_notes(mut self) -> Vec<String> {
        if self.rejected_unnamed > 0 {
            self.rejected
                .push(format!("The rules of {} more ignore files were not applied.", self.rejected_unnamed));
        }
        self.rejected
    }

    fn read(&mut self, folder: &Folder, file: &str, at: &Path, shown: &str) -> Option<Gitignore> {
        let read = folder.read(file, self.bytes_max());
        self.parse_or_note(read, file, at, shown)
    }

    fn bytes_max(&self) -> u64 {
        FILE_BYTES_MAX.min((RULES_BYTES_MAX - self.bytes) as u64)
    }

    /// Parses the rules of a file; adds a note if it was rejected.
    fn parse_or_note(
        &mut self,
        read: Result<Vec<u8>, Refused>,
        file: &str,
        at: &Path,
        shown: &str,
    ) -> Option<Gitignore> {
        let why = match read {
            Ok(text) => match parse_rules(&text, at) {
                Ok(rules) => {
                    self.bytes += text.len();
                    return Some(rules).filter(|rules| !rules.is_empty());
                }
                Err(_) => "they exceed the size limit of compiled rules".to_owned(),
            },
            Err(Refused::Gone) => return None,
            Err(Refused::Link) => "it is a symbolic link or below one".to_owned(),
            Err(Refused::Folder | Refused::NotRegular) => "it is not a regular file".to_owned(),
            Err(Refused::TooLarge) if self.bytes_max() < FILE_BYTES_MAX => {
                format!("with the rules of the directories above they exceed {RULES_BYTES_MAX} bytes")
            }
            Err(Refused::TooLarge) => format!("it exceeds {FILE_BYTES_MAX} bytes"),
            Err(Refused::Unreadable) => "it could not be read".to_owned(),
        };
        if self.rejected.len() < NOTES_MAX {
            let path = if shown.is_empty() { PathBuf::from(file) } else { Path::new(shown).join(file) };
            self.rejected.push(format!("The rules of `{}` were not applied: {why}.", path.display()));
        } else {
            self.rejected_unnamed += 1;
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
