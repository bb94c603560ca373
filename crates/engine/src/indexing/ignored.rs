//! The rules of the ignore files in a directory and in the directories above it, with git's semantics.
//!
//! Ignore files belong to the untrusted repository, so they are read like its other files: beneath the root, never through a
//! link, and with size limits. Rules are matched one by one as they are written, as git does. Compiled into one automaton, a few
//! thousand rules of some dozen bytes can need gigabytes when they meet the right names.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use gix_ignore::glob::Pattern;
use gix_ignore::glob::pattern::Case;
use gix_ignore::glob::wildmatch::Mode;

use super::file_tree::TreeFolder;
use history::GitDirectory;
use platform::safe_open::{EntryKind, Folder, ReadError};
use tenancy::AllowedRoots;

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
/// Maximum length of a rule in bytes; longer ones are ignored.
const RULE_BYTES_MAX: usize = 1024;
/// Maximum number of `**` in a rule; rules with more are ignored. Each can double the time of a match.
const DOUBLE_STARS_MAX: usize = 4;
/// The work after which matching asks whether it must stop, in bytes of rules times bytes of the path: milliseconds.
const WORK_BETWEEN_STOP_CHECKS: usize = 1 << 18;
/// Maximum number of rejected ignore files with a note.
const NOTES_MAX: usize = 20;

/// Owner of the rules by which a path is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IgnoredBy {
    /// Those of [`IGNORE_FILE`].
    Product,
    /// Git's, which do not apply to tracked files.
    Git,
}

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
    product: Rules,
    git: Rules,
    exclude: Rules,
    /// `true` if the directory is the root of a git repository; git rules of the directories above do not apply to it.
    is_repository: bool,
    bytes: usize,
}

/// The rules of one ignore file, in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// The directory to which they apply.
    base: PathBuf,
    patterns: Vec<Pattern>,
    /// Number of rules that were omitted because matching them could take too long.
    left_out: usize,
}

impl Rules {
    /// Parses the rules of a file in the directory `at`. Like git, ignores invalid lines.
    pub(super) fn parse(text: &[u8], at: &Path) -> Self {
        let is_bounded = |pattern: &Pattern| {
            let double_stars = pattern.text.windows(2).filter(|pair| *pair == b"**").count();
            pattern.text.len() <= RULE_BYTES_MAX && double_stars <= DOUBLE_STARS_MAX
        };
        let lines = gix_ignore::parse(text, false).map(|(pattern, ..)| pattern);
        let (patterns, left_out): (Vec<_>, Vec<_>) = lines.partition(is_bounded);
        Self { base: at.to_owned(), patterns, left_out: left_out.len() }
    }

    /// Returns what the last matching rule decides about `path`; `None` if no rule matches, if the path lies elsewhere, or if
    /// `must_stop` becomes true meanwhile.
    pub(super) fn decision(
        &self,
        path: &Path,
        is_folder: bool,
        must_stop: &dyn Fn() -> bool,
    ) -> Option<bool> {
        let relative = path.strip_prefix(&self.base).ok()?.as_os_str().as_bytes();
        let name = relative.iter().rposition(|byte| *byte == b'/').map(|slash| slash + 1);
        let matches = |pattern: &Pattern| {
            let mode = Mode::NO_MATCH_SLASH_LITERAL;
            pattern.matches_repo_relative_path(relative.into(), name, Some(is_folder), Case::Sensitive, mode)
        };
        let mut work = 0;
        for pattern in self.patterns.iter().rev() {
            work += pattern.text.len() * relative.len();
            if work >= WORK_BETWEEN_STOP_CHECKS {
                work = 0;
                if must_stop() {
                    return None;
                }
            }
            if matches(pattern) {
                return Some(!pattern.is_negative());
            }
        }
        None
    }
}

impl IgnoreRules {
    /// Reads the rules of the directories above `root`, up to the root of its git repository. Empty if `root` is itself
    /// the root of a git repository, or belongs to none. Directories outside `allowed` are not read.
    pub(super) fn inherited(root: &Path, allowed: &AllowedRoots) -> Self {
        let mut rules = Self::default();
        let is_repository = |directory: &Path| directory.join(GIT_DIR).symlink_metadata().is_ok();
        if is_repository(root) {
            return rules;
        }
        let Some(top) = root.ancestors().skip(1).find(|directory| is_repository(directory)) else {
            return rules;
        };
        let is_readable = |directory: &&Path| directory.starts_with(top) && allowed.contains(directory);
        let above: Vec<&Path> = root.ancestors().skip(1).take_while(is_readable).collect();
        for (levels_up, directory) in above.into_iter().enumerate().rev() {
            if let Ok(folder) = Folder::open(directory) {
                rules.enter(&TreeFolder::Disk(folder), directory, &vec![".."; levels_up + 1].join("/"));
            }
        }
        rules
    }

    /// Returns the rules of the folders above `root` in its commit, from the top.
    pub(super) fn of_folders(root: &Path, above: &[TreeFolder]) -> Self {
        let mut rules = Self::default();
        for (levels_up, folder) in (1..=above.len()).rev().zip(above) {
            let at = root.ancestors().nth(levels_up).unwrap_or(root);
            rules.enter(folder, at, &vec![".."; levels_up].join("/"));
        }
        rules
    }

    /// Adds the rules of the directory `at`. Notes show it as `display_path`, which is empty for the root.
    pub(super) fn enter(&mut self, folder: &TreeFolder, at: &Path, display_path: &str) {
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
            Some(EntryKind::File) => match GitDirectory::find(at, &|_| true) {
                Ok(git_directory) => {
                    let read = git_directory.read_common_file(EXCLUDE_FILE, self.bytes_max());
                    self.parse_or_note(read, EXCLUDE_FILE, at, display_path)
                }
                Err(_) => Rules::default(),
            },
            _ => Rules::default(),
        };
        level.bytes = self.bytes - bytes_before;
        self.levels.push(level);
    }

    /// Removes the rules of the directory that was entered last.
    pub(super) fn leave(&mut self) {
        self.bytes -= self.levels.pop().map_or(0, |level| level.bytes);
    }

    /// Returns whose rules ignore `path`, if any do. The rules of [`IGNORE_FILE`] take precedence over git's, and the rules of a directory
    /// over those of the directories above. The result has no meaning once `must_stop` is true.
    pub(super) fn ignored(
        &self,
        path: &Path,
        is_folder: bool,
        must_stop: &dyn Fn() -> bool,
    ) -> Option<IgnoredBy> {
        let decision = |rules: &Rules| rules.decision(path, is_folder, must_stop);
        let nearest_first = || self.levels.iter().rev();
        let nearest_first_in_repository = || {
            let root = self.levels.iter().rposition(|level| level.is_repository).unwrap_or(0);
            self.levels[root..].iter().rev()
        };
        if let Some(is_ignored) = nearest_first().find_map(|level| decision(&level.product)) {
            return is_ignored.then_some(IgnoredBy::Product);
        }
        nearest_first_in_repository()
            .find_map(|level| decision(&level.git))
            .or_else(|| nearest_first_in_repository().find_map(|level| decision(&level.exclude)))
            .unwrap_or(false)
            .then_some(IgnoredBy::Git)
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

    fn read(&mut self, folder: &TreeFolder, file: &str, at: &Path, display_path: &str) -> Rules {
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
    ) -> Rules {
        let reason = match read {
            Ok(text) => {
                self.bytes += text.len();
                let rules = Rules::parse(&text, at);
                if rules.left_out > 0 {
                    let path = Path::new(display_path).join(file);
                    self.note(format!(
                        "{} rules of `{}` were not applied: they have more than {RULE_BYTES_MAX} bytes or \
                         {DOUBLE_STARS_MAX} `**`.",
                        rules.left_out,
                        path.display()
                    ));
                }
                return rules;
            }
            Err(ReadError::NotFound) => return Rules::default(),
            Err(ReadError::Link) => "it is a symbolic link or below one".to_owned(),
            Err(ReadError::IsFolder | ReadError::NotRegular) => "it is not a regular file".to_owned(),
            Err(ReadError::TooLarge) if self.bytes_max() < FILE_BYTES_MAX => {
                format!("with the rules of the directories above they exceed {RULES_BYTES_MAX} bytes")
            }
            Err(ReadError::TooLarge) => format!("it exceeds {FILE_BYTES_MAX} bytes"),
            Err(ReadError::Unreadable) => "it could not be read".to_owned(),
        };
        let path = Path::new(display_path).join(file);
        self.note(format!("The rules of `{}` were not applied: {reason}.", path.display()));
        Rules::default()
    }

    fn note(&mut self, note: String) {
        if self.rejected.len() < NOTES_MAX {
            self.rejected.push(note);
        } else {
            self.rejected_without_note += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ignored(rules: &str, path: &str, must_stop: bool) -> Option<bool> {
        let rules = Rules::parse(rules.as_bytes(), Path::new("/repository"));
        rules.decision(&Path::new("/repository").join(path), false, &|| must_stop)
    }

    #[test]
    fn the_last_matching_rule_decides() {
        assert_eq!(ignored("*.log\n!keep.log\n", "deep/keep.log", false), Some(false));
        assert_eq!(ignored("!keep.log\n*.log\n", "deep/keep.log", false), Some(true));
        assert_eq!(ignored("*.log\n", "a.rs", false), None);
        assert_eq!(ignored("*.log\r\n", "a.log", false), Some(true), "line ends of Windows");
        assert_eq!(ignored("/a/**/b\n", "a/b", false), Some(true));
    }

    #[test]
    fn rules_that_take_exponential_time_are_ignored() {
        let path = "x/".repeat(900);
        let rule = |double_stars: usize| format!("*.log\n{}y\n", "**/x/".repeat(double_stars));
        assert_eq!(ignored(&rule(DOUBLE_STARS_MAX), &format!("{path}y"), false), Some(true));
        // With all of these, matching would not end.
        assert_eq!(ignored(&rule(60), &format!("{path}a.log"), false), Some(true));
        assert_eq!(ignored(&rule(60), &format!("{path}z"), false), None);
    }

    #[test]
    fn many_rules_are_matched_without_much_memory_and_can_be_stopped() {
        // As one automaton, these rules need gigabytes for a name of the same letters.
        let rules: String = (0..4000).map(|n| format!("*a*b*c*d*e*f*z{n}\n*abcdef\n")).collect();
        let name = "abcdefgh".repeat(25);
        assert_eq!(ignored(&rules, &name, false), None);
        assert_eq!(ignored(&rules, "abcdef", false), Some(true));
        let long_rule = format!("*a{}z\n", "*b".repeat(400));
        assert_eq!(ignored(&format!("*.log\n{long_rule}"), "a.log", true), Some(true), "too little work");
        let path = format!("{}.log", "a/".repeat(200));
        assert_eq!(ignored(&format!("*.log\n{long_rule}"), &path, true), None, "it was stopped");
    }
}
