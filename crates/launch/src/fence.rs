//! The fence: the folders of a site that a run may change. Paths are compared segment by segment, so `content/docs` does not admit
//! `content/docs-x`.

use std::fmt;

use contract::{ErrorCode, Fault, echo};
use serde_json::json;

/// Longest path, in bytes.
const PATH_BYTES_MAX: usize = 4096;
/// Longest segment, in bytes.
const SEGMENT_BYTES_MAX: usize = 255;

/// Why a text is no path of a site.
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
        }
    }
}

impl fmt::Display for PathProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The segments of a path that is relative to the site and leads nowhere else.
///
/// # Errors
/// What is wrong with it.
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
            name if name.eq_ignore_ascii_case(".git") => return Err(PathProblem::GitDirectory),
            name if name.len() > SEGMENT_BYTES_MAX => return Err(PathProblem::TooLong),
            _ => {}
        }
    }
    Ok(segments)
}

/// Folders and files that may be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    allowed: Vec<String>,
}

impl Fence {
    /// A fence around these paths: what is one of them, or below one, is admitted.
    ///
    /// # Errors
    /// The first text that is no path, and what is wrong with it.
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

    /// Whether a path may be changed.
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

    /// The fault of a change that the fence forbids, for this reason.
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

    fn fence(allowed: &[&str]) -> Fence {
        let allowed: Vec<String> = allowed.iter().map(|path| (*path).to_owned()).collect();
        Fence::new(&allowed).unwrap()
    }

    #[test]
    fn a_folder_does_not_admit_its_neighbour() {
        let fence = fence(&["content/docs", "static/a.png"]);
        for admitted in ["content/docs", "content/docs/a.md", "content/docs/x/y.md", "static/a.png"] {
            assert!(fence.admits(admitted), "{admitted}");
        }
        for refused in [
            "content/docs-x/a.md",
            "content/docsx",
            "content",
            "content/kb/a.md",
            "static/a.png.exe",
            "Content/docs/a.md",
            "content/docs/../kb/a.md",
            "/content/docs/a.md",
            "content//docs/a.md",
            "content/docs/.git/config",
            "content/docs/a\n.md",
            "content/docs\\a.md",
            "",
        ] {
            assert!(!fence.admits(refused), "{refused:?}");
        }
    }

    #[test]
    fn the_first_path_outside_is_named() {
        let fence = fence(&["content/docs"]);
        assert!(fence.require(["content/docs/a.md"]).is_ok());
        let fault = fence.require(["content/docs/a.md", "layouts/a.html"]).unwrap_err();
        assert_eq!(fault.code, ErrorCode::AllowedPathsViolation);
        assert_eq!(fault.details.unwrap()["path"], "layouts/a.html");
        assert!(Fence::new(&[]).unwrap().first_outside(["a"]).is_some(), "an empty fence admits nothing");
    }

    #[test]
    fn a_fence_of_no_paths_is_refused() {
        let refused = Fence::new(&["content".to_owned(), "a/../b".to_owned()]);
        assert_eq!(refused, Err(("a/../b".to_owned(), PathProblem::Relative)));
        assert_eq!(segments(&"x".repeat(256)), Err(PathProblem::TooLong));
        assert_eq!(segments("a/.GIT"), Err(PathProblem::GitDirectory));
    }

    proptest! {
        /// What is admitted is below an allowed path also as the file system sees it.
        #[test]
        fn what_is_admitted_stays_below(path in "[a-c./\\\\]{0,12}", allowed in "[a-c]{1,2}(/[a-c]{1,2}){0,2}") {
            let fence = fence(&[&allowed]);
            if fence.admits(&path) {
                let normal: std::path::PathBuf = std::path::Path::new(&path).components().collect();
                prop_assert!(normal.starts_with(&allowed) && !path.contains(".."), "{path}");
            }
        }
    }
}
