//! Chooses the project of a call.

use std::error::Error;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use contract::{ErrorCode, Fault, ProjectId};
use platform::failpoints;
use platform::safe_open;
use store::DecidedBy;

/// The session configuration: `{"project_id": "client-a"}`, in the working directory or above it.
pub const SESSION_FILE: &str = ".pairofcleats.json";
/// Maximum size of a session configuration; it usually has one line.
pub const SESSION_FILE_BYTES_MAX: u64 = 65_536;
/// Maximum number of directories that are searched upward.
const LEVELS_MAX: usize = 64;

/// The fields of the session configuration that are read; others are ignored.
#[derive(Deserialize)]
struct SessionConfiguration {
    project_id: Option<String>,
}

/// A session configuration that names a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFile {
    /// Its path, with links resolved.
    pub path: PathBuf,
    /// The project id that it contains.
    pub project_id: String,
    /// Its text.
    pub(super) text: String,
}

/// The project of a call, and how it was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenProject {
    /// The project.
    pub id: ProjectId,
    /// The rule that chose it.
    pub decided_by: DecidedBy,
    /// The session configuration that chose it, which may be the repository's own; see [`super::Trust`].
    pub file: Option<SessionFile>,
}

impl ChosenProject {
    fn new(id: ProjectId, decided_by: DecidedBy) -> Self {
        Self { id, decided_by, file: None }
    }
}

/// The parts of a caller's session that choose the project of its calls.
#[derive(Debug, Clone, Copy, Default)]
pub struct Session<'a> {
    /// The project in the client's configuration (`mcp --project`, the header `X-PairOfCleats-Project`).
    pub project: Option<&'a str>,
    /// The caller's working directory, from which the session configuration is searched upward.
    pub directory: Option<&'a Path>,
}

/// Chooses the project of a call: that of the argument; else that of the session, from the client's configuration or
/// from the session configuration in or above the working directory; else the default workspace.
///
/// # Errors
/// `VALIDATION_ERROR` for a malformed id, wherever it comes from: falling back to another project would be worse.
pub fn resolve(argument: Option<&str>, session: Session<'_>) -> Result<ChosenProject, Fault> {
    let mut chosen = choose(argument, session)?;
    if let Some(other) = failpoints::wrong_lookup("resolve") {
        chosen.id = ProjectId::parse(other)?;
    }
    Ok(chosen)
}

fn choose(argument: Option<&str>, session: Session<'_>) -> Result<ChosenProject, Fault> {
    if let Some(text) = argument {
        return Ok(ChosenProject::new(ProjectId::parse(text)?, DecidedBy::Argument));
    }
    if let Some(text) = session.project {
        return Ok(ChosenProject::new(ProjectId::parse(text)?, DecidedBy::Session));
    }
    if let Some(file) = session.directory.map(session_file).transpose()?.flatten() {
        let id = ProjectId::parse(&file.project_id).map_err(|error| {
            let hint = format!("Correct `project_id` in the nearest {SESSION_FILE}: 1 to 50 characters of a-z, 0-9 and single hyphens.");
            Fault::from(error).with_hint(hint)
        })?;
        return Ok(ChosenProject { file: Some(file), ..ChosenProject::new(id, DecidedBy::Session) });
    }
    Ok(ChosenProject::new(ProjectId::default_workspace(), DecidedBy::Default))
}

/// Reads the nearest session configuration that names a project, in `directory` or above it. Files without a project id
/// are skipped.
///
/// # Errors
/// `VALIDATION_ERROR` for a file that cannot be read or is too long: falling back to another project would be worse.
pub fn session_file(directory: &Path) -> Result<Option<SessionFile>, Fault> {
    levels(directory).find_map(|level| session_file_in(level).transpose()).transpose()
}

/// The directories in which a session configuration for `directory` may be, the nearest first.
pub(super) fn levels(directory: &Path) -> impl Iterator<Item = &Path> {
    directory.ancestors().take(LEVELS_MAX)
}

/// Reads the session configuration in one directory; `None` if it is missing or names no project.
pub(super) fn session_file_in(directory: &Path) -> Result<Option<SessionFile>, Fault> {
    let path = directory.join(SESSION_FILE);
    let read = read_session_file(&path);
    if read.is_err() && !path.is_file() {
        return Ok(None);
    }
    let bytes = read.map_err(unreadable)?.ok_or_else(too_long)?;
    let text = String::from_utf8(bytes).map_err(unreadable)?;
    let Some(project_id) = project_in(&text).map_err(unreadable)? else { return Ok(None) };
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    Ok(Some(SessionFile { path: directory.join(SESSION_FILE), project_id, text }))
}

/// Returns the bytes of a session configuration; `None` if there are more than [`SESSION_FILE_BYTES_MAX`]. A part of a file must not pass
/// for the whole, because a user confirms what was read ([`super::Trust`]).
///
/// # Errors
/// The file cannot be read, or is not a regular file.
pub fn read_session_file(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    safe_open::open_regular_file(path)?.take(SESSION_FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= SESSION_FILE_BYTES_MAX).then_some(bytes))
}

fn unreadable(source: impl Into<Box<dyn Error + Send + Sync>>) -> Fault {
    let message = format!("The session configuration {SESSION_FILE} cannot be read.");
    Fault::new(ErrorCode::ValidationError, message)
        .with_hint("Write a JSON object such as {\"project_id\": \"client-a\"}, or remove the file.")
        .with_source(source)
}

fn too_long() -> Fault {
    let message =
        format!("The session configuration {SESSION_FILE} has more than {SESSION_FILE_BYTES_MAX} bytes.");
    Fault::new(ErrorCode::ValidationError, message).with_hint("Correct or remove it.")
}

/// The project id in the text of a session configuration.
pub(super) fn project_in(text: &str) -> serde_json::Result<Option<String>> {
    Ok(serde_json::from_str::<SessionConfiguration>(text)?.project_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_argument_precedes_the_session_and_the_default() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        let choose = |argument| {
            let chosen = resolve(argument, Session { project: None, directory: Some(&deep) }).unwrap();
            assert_eq!(chosen.file.is_some(), argument.is_none() && chosen.decided_by == DecidedBy::Session);
            (chosen.id.as_str().to_owned(), chosen.decided_by)
        };
        assert_eq!(choose(None), ("default".into(), DecidedBy::Default));
        std::fs::write(dir.path().join(SESSION_FILE), r#"{"project_id": "client-a", "search": {}}"#).unwrap();
        assert_eq!(choose(None), ("client-a".into(), DecidedBy::Session));
        std::fs::write(deep.join(SESSION_FILE), r#"{"search": {}}"#).unwrap();
        assert_eq!(choose(None), ("client-a".into(), DecidedBy::Session));
        assert_eq!(choose(Some("x")), ("x".into(), DecidedBy::Argument));
        let named = Session { project: Some("client-b"), directory: Some(&deep) };
        let chosen = resolve(None, named).unwrap();
        assert_eq!(chosen.id.as_str(), "client-b", "the client's configuration precedes the file");
        assert_eq!(chosen.file, None);
    }

    /// The beginning of a file that is too long may be valid and name a different project from the whole.
    #[test]
    fn a_file_that_is_too_long_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let text = r#"{"project_id": "client-a"}"#;
        let bytes_max = usize::try_from(SESSION_FILE_BYTES_MAX).unwrap();
        let write = |bytes: usize| {
            let padded = format!("{text}{}", " ".repeat(bytes - text.len()));
            std::fs::write(dir.path().join(SESSION_FILE), padded).unwrap();
        };
        write(bytes_max);
        assert_eq!(session_file(dir.path()).unwrap().unwrap().project_id, "client-a");
        write(bytes_max + 1);
        let fault = resolve(None, Session { project: None, directory: Some(dir.path()) }).unwrap_err();
        assert_eq!(fault.code, ErrorCode::ValidationError);
        assert!(fault.message.ends_with("has more than 65536 bytes.") && fault.hint.is_some(), "{fault}");
    }

    #[test]
    fn malformed_ids_are_errors() {
        for bad in ["", "Client-A"] {
            let named = Session { project: Some(bad), directory: None };
            for outcome in [resolve(Some(bad), Session::default()), resolve(None, named)] {
                assert_eq!(outcome.unwrap_err().code, ErrorCode::ValidationError);
            }
        }
        let dir = tempfile::tempdir().unwrap();
        for bad in [r#"{"project_id": "A"}"#, "{", r#"{"project_id": 1}"#] {
            std::fs::write(dir.path().join(SESSION_FILE), bad).unwrap();
            assert_eq!(
                resolve(None, Session { project: None, directory: Some(dir.path()) }).unwrap_err().code,
                ErrorCode::ValidationError,
                "{bad}"
            );
        }
    }
}
