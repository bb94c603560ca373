//! The folders of a site that a run may change. Paths are compared segment by segment, so `content/docs` does not admit
//! `content/docs-x`.

use std::fmt;

use contract::{ErrorCode, Fault, echo};
use serde_json::json;

/// Longest path, in bytes.
const PATH_BYTES_MAX: usize = 4096;
/// Longest segment, in bytes.
const SEGMENT_BYTES_MAX: usize = 255;

/// The reason why a text is not a path of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathProblem {
    /// It is empty.
    Empty,
    /// It, or one of its segments, is too long.
    TooLong,
    /// It begins or ends with a slash, or has two in a row.
    EmptySegment,
    /// It has the segment `.` or `..`.
    Relative,
    /// It leads into a git directory.
    GitDirectory,
    /// It has a control character or a backslash.
    ForbiddenCharacter,
    /// Windows has no such names: a device, a character that it forbids, or a dot or space at the end.
    NotPortable,
}

impl PathProblem {
    /// The problem in words, which complete the sentence "The path".
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "is empty",
            Self::TooLong => "is too long",
            Self::EmptySegment => "begins or ends with a slash, or has two in a row",
            Self::Relative => "has a segment `.` or `..`",
            Self::GitDirectory => "leads into a git directory",
            Self::ForbiddenCharacter => "has a control character or a backslash",
            Self::NotPortable => {
                "has a name that Windows does not allow: that of a device, one with any of `<>:\"|?*`, or with a dot or space at its end"
            }
        }
    }
}

impl fmt::Display for PathProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Splits a path that is relative to the site, and stays inside it, into its segments.
///
/// # Errors
/// The problem of the path.
pub fn segments(path: &str) -> Result<Vec<&str>, PathProblem> {
    if path.is_empty() {
        return Err(PathProblem::Empty);
    }
    if path.len() > PATH_BYTES_MAX {
        return Err(PathProblem::TooLong);
    }
    if path.chars().any(|letter| letter.is_control() || letter == '\\') {
        return Err(PathProblem::ForbiddenCharacter);
    }
    let segments: Vec<&str> = path.split('/').collect();
    for segment in &segments {
        match *segment {
            "" => return Err(PathProblem::EmptySegment),
            "." | ".." => return Err(PathProblem::Relative),
            name if name.len() > SEGMENT_BYTES_MAX => return Err(PathProblem::TooLong),
            name if is_git_directory(name) => return Err(PathProblem::GitDirectory),
            name if !is_portable(name) => return Err(PathProblem::NotPortable),
            _ => {}
        }
    }
    Ok(segments)
}

/// Checks whether some file system takes a name for `.git`: in any case; NTFS also without dots and spaces at the end, without the name of
/// a stream, and by its short name; HFS+ also without characters that it ignores. These are the rules of git's `core.protectNTFS` and
/// `core.protectHFS`.
fn is_git_directory(name: &str) -> bool {
    let is_ignored = |c: char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let on_hfs: String = name.chars().filter(|c| !is_ignored(*c)).collect();
    let on_ntfs = name.split(':').next().unwrap_or(name).trim_end_matches(['.', ' ']);
    on_hfs.eq_ignore_ascii_case(".git")
        || [".git", "git~1"].iter().any(|git| on_ntfs.eq_ignore_ascii_case(git))
}

/// Returns `true` if a file or folder can have this name on every system on which a site is checked out.
#[must_use]
pub fn is_portable(name: &str) -> bool {
    const DEVICES: &[&str] = &["aux", "con", "conin$", "conout$", "nul", "prn"];
    // Windows reserves device names with any extension, too.
    let stem = name.split('.').next().unwrap_or(name).trim_end_matches(' ').to_ascii_lowercase();
    let numbered = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
    // Windows also takes superscript digits for digits here.
    let is_port = numbered.is_some_and(|number| {
        matches!(number, "\u{b9}" | "\u{b2}" | "\u{b3}")
            || (number.len() == 1 && number.starts_with(|c: char| c.is_ascii_digit()))
    });
    let is_device = is_port || DEVICES.contains(&stem.as_str());
    !is_device && !name.ends_with(['.', ' ']) && !name.contains(['<', '>', ':', '"', '|', '?', '*'])
}

/// Folders and files that may be changed; by default none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedPaths {
    allowed: Vec<String>,
}

impl AllowedPaths {
    /// Admits these paths and everything below them.
    ///
    /// # Errors
    /// The first text that is not a path, and its problem.
    pub fn new(allowed: &[String]) -> Result<Self, (String, PathProblem)> {
        for path in allowed {
            segments(path).map_err(|problem| (path.clone(), problem))?;
        }
        Ok(Self { allowed: allowed.to_vec() })
    }

    /// The paths.
    #[must_use]
    pub fn allowed(&self) -> &[String] {
        &self.allowed
    }

    /// Returns `true` if a path may be changed.
    #[must_use]
    pub fn admits(&self, path: &str) -> bool {
        let Ok(segments) = segments(path) else { return false };
        self.allowed.iter().any(|allowed| {
            let allowed: Vec<&str> = allowed.split('/').collect();
            segments.starts_with(&allowed)
        })
    }

    /// The first of these paths that may not be changed.
    #[must_use]
    pub fn first_outside<'a>(&self, paths: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
        paths.into_iter().find(|path| !self.admits(path))
    }

    /// Refuses a change of paths that are not all admitted.
    ///
    /// # Errors
    /// `ALLOWED_PATHS_VIOLATION` with the first of them.
    pub fn require<'a>(&self, paths: impl IntoIterator<Item = &'a str>) -> Result<(), Fault> {
        match self.first_outside(paths) {
            None => Ok(()),
            Some(path) => Err(self.violation(path, "it lies outside the allowed paths")),
        }
    }

    /// The fault of a change that is not allowed, for this reason.
    #[must_use]
    pub fn violation(&self, path: &str, reason: &str) -> Fault {
        let message = format!("`{}` must not be changed: {reason}.", echo(path));
        Fault::new(ErrorCode::AllowedPathsViolation, message)
            .with_details(json!({ "path": echo(path), "allowed_paths": self.allowed }))
            .with_hint("A run changes only paths below `allowed_paths` of its site profile.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn allowed_paths(allowed: &[&str]) -> AllowedPaths {
        let allowed: Vec<String> = allowed.iter().map(|path| (*path).to_owned()).collect();
        AllowedPaths::new(&allowed).unwrap()
    }

    #[test]
    fn a_folder_does_not_admit_its_neighbour() {
        let allowed_paths = allowed_paths(&["content/docs", "static/a.png"]);
        for admitted in ["content/docs", "content/docs/a.md", "content/docs/x/y.md", "static/a.png"] {
            assert!(allowed_paths.admits(admitted), "{admitted}");
        }
        for refused in [
            "content/docs-x/a.md", "content/docsx", "content", "content/kb/a.md", "static/a.png.exe",
            "Content/docs/a.md", "content/docs/../kb/a.md", "/content/docs/a.md", "content//docs/a.md",
            "content/docs/.git/config", "content/docs/a\n.md", "content/docs\\a.md",
            "content/docs/.git./config", "content/docs/GIT~1/config", "content/docs/aux/a.md",
            "content/docs/a.md ", "",
        ] {
            assert!(!allowed_paths.admits(refused), "{refused:?}");
        }
    }

    #[test]
    fn the_first_path_outside_is_named() {
        let allowed_paths = allowed_paths(&["content/docs"]);
        assert!(allowed_paths.require(["content/docs/a.md"]).is_ok());
        let fault = allowed_paths.require(["content/docs/a.md", "layouts/a.html"]).unwrap_err();
        assert_eq!(fault.code, ErrorCode::AllowedPathsViolation);
        assert_eq!(fault.details.unwrap()["path"], "layouts/a.html");
        assert!(
            AllowedPaths::new(&[]).unwrap().first_outside(["a"]).is_some(),
            "an empty list admits nothing"
        );
    }

    #[test]
    fn a_fence_of_no_paths_is_refused() {
        let refused = AllowedPaths::new(&["content".to_owned(), "a/../b".to_owned()]);
        assert_eq!(refused, Err(("a/../b".to_owned(), PathProblem::Relative)));
        assert_eq!(segments(&"x".repeat(256)), Err(PathProblem::TooLong));
        assert_eq!(segments("a/.GIT"), Err(PathProblem::GitDirectory));
    }

    #[test]
    fn no_name_is_a_git_directory_on_any_system() {
        for name in [
            ".git", ".gIt", ".git.", ".git . ", "git~1", "GIT~1.", ".git::$INDEX_ALLOCATION", "git~1:x",
            ".g\u{200c}it", "\u{feff}.git\u{202e}",
        ] {
            assert_eq!(segments(&format!("a/{name}/b")), Err(PathProblem::GitDirectory), "{name:?}");
        }
        for name in [".gitignore", ".github", "git", "git~2", "git~10", ".git-x", "x.git", "digit~1"] {
            assert_eq!(segments(&format!("a/{name}")).map(|parts| parts.len()), Ok(2), "{name}");
        }
    }

    #[test]
    fn no_name_is_one_that_windows_cannot_have() {
        for name in [
            "aux", "CON", "nul.md", "prn .txt", "com1", "Lpt9.x.md", "com\u{b2}", "conin$", "a.", "a ",
            "a:b", "a?", "a|b", "a*", "<a>", "a\"b",
        ] {
            assert_eq!(segments(&format!("a/{name}")), Err(PathProblem::NotPortable), "{name:?}");
        }
        for name in ["auxiliary", "console", "com", "com10", "lpt", "introducing-aux.md", "a b", "ä.md", ".x"]
        {
            assert!(segments(name).is_ok(), "{name}");
        }
    }

    proptest! {
        /// An admitted path is below an allowed path, also as the file system resolves it.
        #[test]
        fn what_is_admitted_stays_below(path in "[a-c./\\\\]{0,12}", allowed in "[a-c]{1,2}(/[a-c]{1,2}){0,2}") {
            let allowed_paths = allowed_paths(&[&allowed]);
            if allowed_paths.admits(&path) {
                let normal: std::path::PathBuf = std::path::Path::new(&path).components().collect();
                prop_assert!(normal.starts_with(&allowed) && !path.contains(".."), "{path}");
            }
        }
    }
}
