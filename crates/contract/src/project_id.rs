//! [`ProjectId`]: validated once, when a request is parsed.

use std::fmt;

use super::{ErrorCode, Fault};

/// Maximum length of a project id in characters.
pub const PROJECT_ID_CHARS_MAX: usize = 50;
/// The pattern of project ids, as published in schemas and error messages.
pub const PROJECT_ID_PATTERN: &str = "^[a-z0-9]+(-[a-z0-9]+)*$";

/// A well-formed project id. The default workspace is the id `default`.
///
/// Parsing never normalises: `Client-A` is refused instead of read as `client-a`, so that different texts never mean the same
/// workspace.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProjectId(Box<str>);

/// The error of [`ProjectId::parse`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectIdError {
    /// The refused text.
    pub value: String,
    /// The rule that the text breaks, for people.
    pub constraint: &'static str,
}

impl ProjectId {
    /// Returns the id of the workspace of calls that do not name a project.
    #[must_use]
    pub fn default_workspace() -> Self {
        Self("default".into())
    }

    /// Parses `text`, which must match [`PROJECT_ID_PATTERN`] and have at most [`PROJECT_ID_CHARS_MAX`] characters.
    ///
    /// # Errors
    /// [`ProjectIdError`] with the rule that `text` breaks.
    pub fn parse(text: &str) -> Result<Self, ProjectIdError> {
        let broken = |constraint| Err(ProjectIdError { value: text.to_owned(), constraint });
        if text.is_empty() {
            return broken("Must not be empty");
        }
        if text.len() > PROJECT_ID_CHARS_MAX {
            return broken("Must be at most 50 characters");
        }
        let well_formed = text.split('-').all(|part| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        });
        if !well_formed {
            return broken("Must match pattern: ^[a-z0-9]+(-[a-z0-9]+)*$");
        }
        Ok(Self(text.into()))
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the id in answers: `None`, in JSON `null`, for the default workspace.
    #[must_use]
    pub fn public(&self) -> Option<&str> {
        (&*self.0 != "default").then_some(&*self.0)
    }

    /// Returns the name of the project's Postgres schema: `project_` + id with `-` as `_`.
    ///
    /// Different ids have different names, because an id contains no `_`. At most 58 bytes, so Postgres does not truncate it.
    #[must_use]
    pub fn schema_name(&self) -> String {
        format!("project_{}", self.0.replace('-', "_"))
    }
}

impl fmt::Display for ProjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ProjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<ProjectIdError> for Fault {
    fn from(error: ProjectIdError) -> Self {
        Self::new(
            ErrorCode::ValidationError,
            "Project identifier must be lowercase alphanumeric with hyphens",
        )
        .with_details(serde_json::json!({
            "field": "project_id",
            "value": super::echo(&error.value),
            "constraint": error.constraint,
        }))
        .with_hint("Use 1 to 50 characters of a-z, 0-9 and single hyphens, for example `client-a`.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ids_are_accepted_and_refused_by_the_pattern() {
        for bad in ["", "-a", "a-", "a--b", "A", "a_b", "a b", "ä", "a\n", "a/..", &"a".repeat(51)] {
            assert!(ProjectId::parse(bad).is_err(), "{bad:?}");
        }
        for good in ["a", "0", "client-a", "my-project-123", &"a".repeat(50)] {
            assert!(ProjectId::parse(good).is_ok(), "{good:?}");
        }
    }

    proptest! {
        #[test]
        fn schema_names_are_injective_and_short(a in "[a-z0-9]{1,10}(-[a-z0-9]{1,5}){0,3}", b in "[a-z0-9]{1,10}(-[a-z0-9]{1,5}){0,3}") {
            let (Ok(x), Ok(y)) = (ProjectId::parse(&a), ProjectId::parse(&b)) else {
                return Err(TestCaseError::fail("generator made a bad id"));
            };
            prop_assert_eq!(x.schema_name() == y.schema_name(), a == b);
            prop_assert!(x.schema_name().len() <= 58);
        }

        #[test]
        fn arbitrary_text_parses_only_if_the_pattern_matches(text in ".{0,60}") {
            let pattern = regex::Regex::new(r"\A[a-z0-9]+(-[a-z0-9]+)*\z").map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(ProjectId::parse(&text).is_ok(), pattern.is_match(&text) && text.len() <= 50);
        }
    }
}
