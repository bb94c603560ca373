//! Which project a call is about (contract.md, "Workspaces").

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;

use crate::contract::{ErrorCode, Fault, ProjectId};
use crate::store::DecidedBy;

/// The session configuration: `{"project_id": "client-a"}`, in the working directory or above it.
pub const SESSION_FILE: &str = ".pairofcleats.json";
/// A session configuration is one line; more is not read.
const SESSION_FILE_BYTES_MAX: u64 = 65_536;
/// How far up it is looked for.
const LEVELS_MAX: usize = 64;

/// What we read of the session configuration; other keys belong to others.
#[derive(Deserialize)]
struct Session {
    project_id: Option<String>,
}

/// The project of a call and the rule that chose it: the explicit argument, which never falls through; the
/// session configuration found upward from `directory`; the default workspace.
///
/// # Errors
/// `VALIDATION_ERROR` for a malformed id, also in the session configuration: indexing into another project
/// than the one that is written there would be worse.
pub fn resolve(argument: Option<&str>, directory: Option<&Path>) -> Result<(ProjectId, DecidedBy), Fault> {
    if let Some(text) = argument {
        return Ok((ProjectId::parse(text)?, DecidedBy::Argument));
    }
    if let Some(text) = directory.map(session).transpose()?.flatten() {
        let id = ProjectId::parse(&text).map_err(|error| {
            let hint = format!("Correct `project_id` in the nearest {SESSION_FILE}: 1 to 50 characters of a-z, 0-9 and single hyphens.");
            Fault::from(error).with_hint(hint)
        })?;
        return Ok((id, DecidedBy::Session));
    }
    Ok((ProjectId::default_workspace(), DecidedBy::Default))
}

/// The project id of the nearest session configuration that has one. A nearer file without an id does not
/// hide a farther one with it.
fn session(directory: &Path) -> Result<Option<String>, Fault> {
    for level in directory.ancestors().take(LEVELS_MAX) {
        let path = level.join(SESSION_FILE);
        if !path.is_file() {
            continue;
        }
        let mut text = String::new();
        let read =
            File::open(&path).and_then(|file| file.take(SESSION_FILE_BYTES_MAX).read_to_string(&mut text));
        let unusable = |source: Box<dyn std::error::Error + Send + Sync>| {
            Fault::new(
                ErrorCode::ValidationError,
                format!("The session configuration {SESSION_FILE} cannot be read."),
            )
            .with_hint("Write a JSON object such as {\"project_id\": \"client-a\"}, or remove the file.")
            .with_source(source)
        };
        read.map_err(|e| unusable(e.into()))?;
        let session: Session = serde_json::from_str(&text).map_err(|e| unusable(e.into()))?;
        if session.project_id.is_some() {
            return Ok(session.project_id);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argument_beats_session_beats_default() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        let who = |argument| {
            let (id, by) = resolve(argument, Some(&deep)).unwrap();
            (id.as_str().to_owned(), by)
        };
        assert_eq!(who(None), ("default".into(), DecidedBy::Default));
        std::fs::write(dir.path().join(SESSION_FILE), r#"{"project_id": "client-a", "search": {}}"#).unwrap();
        assert_eq!(who(None), ("client-a".into(), DecidedBy::Session));
        std::fs::write(deep.join(SESSION_FILE), r#"{"search": {}}"#).unwrap();
        assert_eq!(who(None), ("client-a".into(), DecidedBy::Session));
        assert_eq!(who(Some("x")), ("x".into(), DecidedBy::Argument));
    }

    #[test]
    fn nothing_malformed_falls_through() {
        assert_eq!(resolve(Some(""), None).unwrap_err().code, ErrorCode::ValidationError);
        assert_eq!(resolve(Some("Client-A"), None).unwrap_err().code, ErrorCode::ValidationError);
        let dir = tempfile::tempdir().unwrap();
        for bad in [r#"{"project_id": "A"}"#, "{", r#"{"project_id": 1}"#] {
            std::fs::write(dir.path().join(SESSION_FILE), bad).unwrap();
            assert_eq!(
                resolve(None, Some(dir.path())).unwrap_err().code,
                ErrorCode::ValidationError,
                "{bad}"
            );
        }
    }
}
