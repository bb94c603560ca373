//! Branches and tags beside the default branch, and the patterns that select them by name.

use std::io;
use std::path::Path;

use gix::ObjectId;
use gix::objs::{FindHeader, Kind};
use regex::{RegexSet, RegexSetBuilder};

use super::commit_tree::CommitTree;
use super::objects::ObjectReader;

/// Maximum number of revisions of a repository beside its default branch.
pub const REVISIONS_MAX: usize = 63;

/// Maximum number of patterns of a repository.
const PATTERNS_MAX: usize = 64;
/// Maximum length of a pattern in bytes.
const PATTERN_BYTES_MAX: usize = 255;
/// Memory of the compiled patterns in bytes; the most expensive ones that are allowed need less.
const COMPILED_BYTES_MAX: usize = 64 << 20;
/// Characters that git forbids in names, without the wildcards `*` and `?`.
const FORBIDDEN: [char; 6] = [' ', '~', '^', ':', '[', '\\'];

/// A branch or a tag, and the commit that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// The short name, such as `release/1.0`.
    pub name: String,
    /// The kind, branch or tag.
    pub kind: RevisionKind,
    /// The commit, in hex; of an annotated tag, the commit that it points to.
    pub commit: String,
}

/// The kinds of revisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RevisionKind {
    /// A branch.
    Branch,
    /// A tag.
    Tag,
}

impl RevisionKind {
    /// Returns the kind as text: `branch` or `tag`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Branch => "branch",
            Self::Tag => "tag",
        }
    }

    /// Parses the text that [`Self::as_str`] returns.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Branch, Self::Tag].into_iter().find(|kind| kind.as_str() == text)
    }
}

/// The object that a mirror has under the id of a revision's commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundCommit {
    /// The commit, and its topmost folder.
    Readable,
    /// An object of another kind: tags may point to files and folders.
    OtherObject,
    /// The commit, but it or its topmost folder is too large or malformed. Fetching it again changes nothing.
    Unreadable,
    /// Nothing, or something that cannot be read.
    Missing,
}

impl Revision {
    /// Looks the commit up in the mirror at `git_dir`.
    #[must_use]
    pub fn find_commit(&self, git_dir: &Path) -> FoundCommit {
        match CommitTree::open(git_dir, &self.commit).and_then(|tree| tree.root()) {
            Ok(_) => FoundCommit::Readable,
            Err(_) if is_other_object(git_dir, &self.commit) => FoundCommit::OtherObject,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => FoundCommit::Unreadable,
            Err(_) => FoundCommit::Missing,
        }
    }
}

/// Checks whether the mirror has an object with this id that is not a commit.
fn is_other_object(git_dir: &Path, id: &str) -> bool {
    let Ok(id) = ObjectId::from_hex(id.as_bytes()) else { return false };
    let Ok(reader) = ObjectReader::open(git_dir.join("objects")) else { return false };
    matches!(reader.handle.try_header(&id), Ok(Some(header)) if header.kind != Kind::Commit)
}

/// Patterns for short names of branches and tags: `*` matches any characters, including slashes, and `?` matches one.
#[derive(Debug, Clone, Default)]
pub struct RevisionPatterns {
    texts: Vec<String>,
    /// Matches in time that grows linearly with the length of a name, whatever the patterns are.
    compiled: RegexSet,
}

impl PartialEq for RevisionPatterns {
    fn eq(&self, other: &Self) -> bool {
        self.texts == other.texts
    }
}

impl Eq for RevisionPatterns {}

impl RevisionPatterns {
    /// Parses patterns; an empty list is valid too, and matches nothing.
    ///
    /// # Errors
    /// A sentence with the pattern that cannot be used, and the reason.
    pub fn parse(patterns: &[String]) -> Result<Self, String> {
        if patterns.len() > PATTERNS_MAX {
            return Err(format!(
                "At most {PATTERNS_MAX} patterns are possible; these are {}.",
                patterns.len()
            ));
        }
        let mut texts: Vec<String> = Vec::with_capacity(patterns.len());
        for pattern in patterns {
            check(pattern)?;
            if !texts.contains(pattern) {
                texts.push(pattern.clone());
            }
        }
        let compiled = RegexSetBuilder::new(texts.iter().map(|text| expression(text)))
            .size_limit(COMPILED_BYTES_MAX)
            .build()
            .map_err(|_| "The patterns are too complex together.".to_owned())?;
        Ok(Self { texts, compiled })
    }

    /// Checks whether there are no patterns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Returns the patterns as they were given, each once.
    #[must_use]
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Checks whether a pattern matches the short name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.compiled.is_match(name)
    }

    /// Returns the patterns that match the short name.
    pub fn matching<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        self.compiled.matches(name).into_iter().filter_map(|at| self.texts.get(at).map(String::as_str))
    }
}

/// Checks that names of branches and tags can match a pattern.
fn check(pattern: &str) -> Result<(), String> {
    if pattern.is_empty() {
        return Err("A pattern is empty.".to_owned());
    }
    if pattern.len() > PATTERN_BYTES_MAX {
        return Err(format!(
            "A pattern has {} bytes; at most {PATTERN_BYTES_MAX} are possible.",
            pattern.len()
        ));
    }
    if pattern.starts_with('-') {
        return Err(format!("The pattern {pattern:?} begins with `-`, as no name that is used."));
    }
    let is_forbidden = |letter: &char| letter.is_control() || FORBIDDEN.contains(letter);
    match pattern.chars().find(is_forbidden) {
        Some(letter) => {
            Err(format!("The pattern {pattern:?} has {letter:?}, which no name of a branch or tag has."))
        }
        None => Ok(()),
    }
}

/// Returns the regular expression of a pattern.
fn expression(pattern: &str) -> String {
    let mut expression = String::from(r"(?s)\A");
    let mut previous = None;
    for letter in pattern.chars() {
        match letter {
            '*' if previous == Some('*') => {}
            '*' => expression.push_str(".*"),
            '?' => expression.push('.'),
            _ => expression.push_str(&regex::escape(letter.encode_utf8(&mut [0; 4]))),
        }
        previous = Some(letter);
    }
    expression.push_str(r"\z");
    expression
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn patterns(texts: &[&str]) -> Result<RevisionPatterns, String> {
        let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        RevisionPatterns::parse(&texts)
    }

    #[test]
    fn kinds_are_read_as_they_are_written() {
        for kind in [RevisionKind::Branch, RevisionKind::Tag] {
            assert_eq!(RevisionKind::parse(kind.as_str()), Some(kind));
        }
        assert_eq!(RevisionKind::parse("Branch"), None);
    }

    #[test]
    fn a_pattern_matches_whole_names() {
        for (pattern, matching, others) in [
            ("main", vec!["main"], vec!["mai", "main2", "x/main", "Main", ""]),
            ("release/*", vec!["release/1", "release/1/hotfix", "release/"], vec!["release", "my/release/1"]),
            ("*", vec!["a", "a/b", "größe"], vec![]),
            ("v?.?", vec!["v1.0", "vö.ü"], vec!["v1.10", "v1x0", "v1."]),
            ("**/x", vec!["a/x", "a/b/x", "/x"], vec!["x", "a/xy"]),
            ("a/**/b", vec!["a/x/b", "a//b"], vec!["a/b", "ab"]),
            ("v1.0+b(2)|$", vec!["v1.0+b(2)|$"], vec!["v1.0b2", "v1x0+b(2)|$"]),
            ("{a,b}!", vec!["{a,b}!"], vec!["a!", "b!"]),
        ] {
            let compiled = patterns(&[pattern]).unwrap();
            for name in matching {
                assert!(compiled.matches(name), "{pattern} {name}");
            }
            for name in others {
                assert!(!compiled.matches(name), "{pattern} {name}");
            }
        }
    }

    #[test]
    fn each_pattern_that_matches_is_named() {
        let compiled = patterns(&["v*", "*1", "v*", "release/*"]).unwrap();
        assert_eq!(compiled.texts(), ["v*", "*1", "release/*"]);
        assert_eq!(compiled.matching("v1").collect::<Vec<_>>(), ["v*", "*1"]);
        assert_eq!(compiled.matching("trunk").count(), 0);
        assert!(RevisionPatterns::default().is_empty() && !RevisionPatterns::default().matches(""));
        assert_eq!(patterns(&[]).unwrap(), RevisionPatterns::default());
        assert_ne!(compiled, RevisionPatterns::default());
    }

    #[test]
    fn patterns_that_match_no_name_are_refused() {
        let long = "a".repeat(256);
        for wrong in ["", &long, "-x", "a b", "a\n", "a\u{7f}", "a~1", "a^", "a:b", "[ab]", r"a\b"] {
            assert!(patterns(&["v*", wrong]).is_err(), "{wrong:?}");
        }
        assert!(patterns(&[&long[1..]]).is_ok());
        let many: Vec<String> = (0..65).map(|n| format!("v{n}")).collect();
        assert!(RevisionPatterns::parse(&many).unwrap_err().contains("64"));
        assert!(RevisionPatterns::parse(&many[1..]).is_ok());
    }

    #[test]
    fn the_most_expensive_patterns_match_in_linear_time() {
        let texts: Vec<String> = (0..64)
            .map(|n| match n % 2 {
                0 => format!("{n}{}", "?".repeat(253)),
                _ => format!("{n}{}b", "*a".repeat(126)),
            })
            .collect();
        let compiled = RevisionPatterns::parse(&texts).unwrap();
        let begun = Instant::now();
        let name = format!("1{}", "a".repeat(254));
        assert!(!compiled.matches(&name));
        assert!(compiled.matches(&format!("1{}b", "a".repeat(253))));
        assert!(begun.elapsed() < Duration::from_secs(20), "backtracking would take years");
    }
}
