//! The rules of ignore files, as git has them: what each directory's own file says, and those above it.
//!
//! Ignore files are part of the repository, so they are read like any other file of it: beneath the root, never through a
//! link, and within bounds, because a rule costs a hundred times its bytes once it is compiled.

use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use history::Place;
use platform::beneath::{Folder, Kind, Refused};

/// Name of our own ignore file; its rules are those of `.gitignore`.
pub(super) const IGNORE_FILE: &str = ".pairofcleatsignore";
/// Git's.
const GIT_IGNORE_FILE: &str = ".gitignore";
/// The clone's own, below the git directory.
const EXCLUDE_FILE: &str = "info/exclude";
/// Where git keeps what it knows.
pub(super) const GIT: &str = ".git";

/// Largest ignore file.
const FILE_BYTES_MAX: u64 = 256 << 10;
/// Most bytes of rules that hold at one place, of all files above it together.
const RULES_BYTES_MAX: usize = 512 << 10;
/// Longest rule. A longer one is passed over.
const RULE_BYTES_MAX: usize = 1024;
/// Most files that are named as not read.
const TOLD_MAX: usize = 20;

/// The rules that hold in a directory and in those above it, the outermost first.
#[derive(Debug, Default)]
pub(super) struct Rules {
    levels: Vec<Level>,
    /// Bytes of the rules in `levels`.
    bytes: usize,
    /// Ignore files whose rules were not taken, one sentence each.
    pub(super) not_taken: Vec<String>,
    /// How many there are beyond those.
    not_told: usize,
}

/// The rules of one directory.
#[derive(Debug, Default)]
struct Level {
    own: Option<Gitignore>,
    git: Option<Gitignore>,
    exclude: Option<Gitignore>,
    /// Whether a repository begins here: git's rules from above do not reach into it.
    repository: bool,
    bytes: usize,
}

impl Rules {
    /// Those that hold in a root which is a part of a larger work tree: of its directories above the root. None for a
    /// root that is a repository of its own, or belongs to none.
    pub(super) fn above(root: &Path) -> Self {
        let mut rules = Self::default();
        let is_repository = |directory: &Path| directory.join(GIT).symlink_metadata().is_ok();
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

    /// Adds those of a directory; `at` is its path, `shown` its name in messages, empty for the root.
    pub(super) fn enter(&mut self, folder: &Folder, at: &Path, shown: &str) {
        let before = self.bytes;
        let mut level = Level { repository: folder.kind(GIT).is_some(), ..Level::default() };
        level.own = self.read(folder, IGNORE_FILE, at, shown);
        level.git = self.read(folder, GIT_IGNORE_FILE, at, shown);
        level.exclude = match folder.kind(GIT) {
            Some(Kind::Folder) => {
                let read = folder.read(&format!("{GIT}/{EXCLUDE_FILE}"), self.bytes_max());
                self.taken(read, &format!("{GIT}/{EXCLUDE_FILE}"), at, shown)
            }
            // A linked work tree has that of the main one.
            Some(Kind::File) => Place::find(at, &|_| true).ok().and_then(|place| {
                let read = place.read_common(EXCLUDE_FILE, self.bytes_max());
                self.taken(read, EXCLUDE_FILE, at, shown)
            }),
            _ => None,
        };
        level.bytes = self.bytes - before;
        self.levels.push(level);
    }

    /// Takes those of the directory that was entered last away again.
    pub(super) fn leave(&mut self) {
        self.bytes -= self.levels.pop().map_or(0, |level| level.bytes);
    }

    /// Whether they leave out what is at `path`. Our own rules come before git's, and the nearest directory's before those
    /// above it.
    pub(super) fn leave_out(&self, path: &Path, is_folder: bool) -> bool {
        let said =
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
            .find_map(|level| said(&level.own))
            .or_else(|| of_repository().find_map(|level| said(&level.git)))
            .or_else(|| of_repository().find_map(|level| said(&level.exclude)))
            .unwrap_or(false)
    }

    /// What was not taken, and of how many that is not said.
    pub(super) fn into_notes(mut self) -> Vec<String> {
        if self.not_told > 0 {
            self.not_taken.push(format!("The rules of {} more ignore files were not taken.", self.not_told));
        }
        self.not_taken
    }

    fn read(&mut self, folder: &Folder, file: &str, at: &Path, shown: &str) -> Option<Gitignore> {
        let read = folder.read(file, self.bytes_max());
        self.taken(read, file, at, shown)
    }

    fn bytes_max(&self) -> u64 {
        FILE_BYTES_MAX.min((RULES_BYTES_MAX - self.bytes) as u64)
    }

    /// The rules of a file that was read or not; why not is noted.
    fn taken(
        &mut self,
        read: Result<Vec<u8>, Refused>,
        file: &str,
        at: &Path,
        shown: &str,
    ) -> Option<Gitignore> {
        let why = match read {
            Ok(text) => match rules(&text, at) {
                Ok(rules) => {
                    self.bytes += text.len();
                    return Some(rules).filter(|rules| !rules.is_empty());
                }
                Err(_) => "together they are too much".to_owned(),
            },
            Err(Refused::Gone) => return None,
            Err(Refused::Link) => "it is reached through a symbolic link".to_owned(),
            Err(Refused::Folder | Refused::NotRegular) => "it is not a regular file".to_owned(),
            Err(Refused::TooLarge) if self.bytes_max() < FILE_BYTES_MAX => {
                format!("with those of the directories above they have more than {RULES_BYTES_MAX} bytes")
            }
            Err(Refused::TooLarge) => format!("it has more than {FILE_BYTES_MAX} bytes"),
            Err(Refused::Unreadable) => "it may not be read".to_owned(),
        };
        if self.not_taken.len() < TOLD_MAX {
            let path = if shown.is_empty() { PathBuf::from(file) } else { Path::new(shown).join(file) };
            self.not_taken.push(format!("The rules of `{}` were not taken: {why}.", path.display()));
        } else {
            self.not_told += 1;
        }
        None
    }
}

/// The rules of a file in the directory `at`. As in git, a line that is no rule counts for nothing.
pub(super) fn rules(text: &[u8], at: &Path) -> Result<Gitignore, ignore::Error> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut builder = GitignoreBuilder::new(at);
    let lines = text.split(|byte| *byte == b'\n').filter(|line| line.len() <= RULE_BYTES_MAX);
    for line in lines.filter_map(|line| std::str::from_utf8(line).ok()) {
        let _ = builder.add_line(None, line.trim_end_matches('\r'));
    }
    builder.build()
}
