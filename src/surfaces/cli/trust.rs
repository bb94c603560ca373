//! `trust`: lets a repository's `.pairofcleats.json` select the project for calls that write.

use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};

use super::flags::absolute;
use super::output::{BOLD, GOOD, NOTE, PATH, styled};
use super::projects::parse_project_id;
use super::session::{CommandResult, Session};
use crate::surfaces::answer::unguessable_id;
use contract::{ErrorCode, Fault, ProjectId};
use platform::safe_open;
use tenancy::{SESSION_FILE, SESSION_FILE_BYTES_MAX, Trust, session_file};

/// Arguments of `trust`.
#[derive(Debug, clap::Args)]
pub(super) struct TrustArgs {
    /// Folder; the nearest .pairofcleats.json in it or above it is trusted
    #[arg(default_value = ".", value_parser = absolute)]
    path: String,
    /// First write this project to the folder's .pairofcleats.json
    #[arg(long, value_name = "ID", value_parser = parse_project_id, conflicts_with = "revoke")]
    project: Option<ProjectId>,
    /// Revoke the trust
    #[arg(long)]
    revoke: bool,
}

/// The result that `--json` prints.
#[derive(Debug, Serialize)]
struct TrustResult {
    file: PathBuf,
    project_id: String,
    trusted: bool,
    /// Whether this call withdrew trust that existed.
    revoked: bool,
}

/// Entry point of `trust`.
pub(super) async fn trust_session_file(session: &Session, args: TrustArgs) -> CommandResult {
    let path = PathBuf::from(&args.path);
    let folder = if path.ends_with(SESSION_FILE) { path.parent().unwrap_or(&path) } else { &path };
    if let Some(id) = &args.project {
        write_project(folder, id)?;
    }
    let file = session_file(folder)?.ok_or_else(|| no_session_file(folder))?;
    // Every later call would refuse a file with an invalid project ID.
    ProjectId::parse(&file.project_id).map_err(Fault::from)?;
    let trust = Trust::new(&session.app.layout);
    let revoked = args.revoke && trust.revoke(&file)?;
    if !args.revoke {
        trust.confirm(&file)?;
    }
    let trusted =
        TrustResult { file: file.path, project_id: file.project_id, trusted: !args.revoke, revoked };
    Ok(session.print_result(&trusted, &render(&trusted)))
}

fn render(trusted: &TrustResult) -> String {
    let TrustResult { file, project_id, trusted, revoked } = trusted;
    let file = styled(PATH, &file.display().to_string());
    let project = styled(BOLD, project_id);
    match (trusted, revoked) {
        (true, _) => format!(
            "{} {file}: trusted; calls from this folder write to the project {project}. A changed file must be trusted again.\n",
            styled(GOOD, "✓")
        ),
        (false, true) => format!(
            "{} {file}: no longer trusted; it selects the project {project} for reads only.\n",
            styled(GOOD, "✓")
        ),
        (false, false) => format!(
            "{} {file}: was not trusted; it selects the project {project} for reads only.\n",
            styled(NOTE, "!")
        ),
    }
}

/// Writes the project to the folder's file and keeps its other settings. Replaces a symbolic link instead of following it.
fn write_project(folder: &Path, id: &ProjectId) -> Result<(), Fault> {
    let path = folder.join(SESSION_FILE);
    let not_written = |error: io::Error| {
        Fault::new(ErrorCode::InvalidInput, format!("{} could not be written: {error}.", path.display()))
            .with_hint("Name a folder that you can write to.")
    };
    let unusable = |why: fmt::Arguments<'_>| {
        Fault::new(ErrorCode::InvalidInput, format!("{} {why}.", path.display()))
            .with_hint("Correct or remove it.")
    };
    let mut settings: Map<String, Value> = match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Map::new(),
        Err(error) => return Err(not_written(error)),
        Ok(found) if found.is_symlink() => Map::new(),
        Ok(found) if !found.is_file() => return Err(unusable(format_args!("is not a regular file"))),
        Ok(_) => {
            let text = read_session_file(&path)
                .map_err(not_written)?
                .ok_or_else(|| unusable(format_args!("has more than {SESSION_FILE_BYTES_MAX} bytes")))?;
            serde_json::from_slice(&text)
                .map_err(|error| unusable(format_args!("is not a valid JSON object: {error}")))?
        }
    };
    settings.insert("project_id".to_owned(), id.as_str().into());
    let text = format!("{:#}\n", Value::Object(settings));
    // A short text can become too long for sessions when it is indented.
    if text.len() as u64 > SESSION_FILE_BYTES_MAX {
        return Err(unusable(format_args!("would have more than {SESSION_FILE_BYTES_MAX} bytes")));
    }
    replace_session_file(folder, &text).map_err(not_written)
}

/// Writes the folder's file under a temporary name, then renames it.
fn replace_session_file(folder: &Path, text: &str) -> io::Result<()> {
    let unguessable = unguessable_id().map_err(io::Error::other)?;
    let temporary = folder.join(format!("{SESSION_FILE}.{unguessable}.part"));
    // `create_new` and an unguessable name: a folder from elsewhere may hold links that lead out of it.
    let mut file = fs::File::create_new(&temporary)?;
    let replaced =
        file.write_all(text.as_bytes()).and_then(|()| fs::rename(&temporary, folder.join(SESSION_FILE)));
    if replaced.is_err() {
        // The first error is reported.
        let _ = fs::remove_file(&temporary);
    }
    replaced
}

/// The file's bytes; `None` if there are more than sessions read.
fn read_session_file(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    safe_open::open_regular_file(path)?.take(SESSION_FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= SESSION_FILE_BYTES_MAX).then_some(bytes))
}

fn no_session_file(folder: &Path) -> Fault {
    let message = format!(
        "Neither {} nor a folder above it contains a {SESSION_FILE} with a project.",
        folder.display()
    );
    Fault::new(ErrorCode::NotFound, message).with_hint("`pairofcleats trust --project ID` writes one.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revocation_without_trust_reads_differently() {
        let shown = |trusted, revoked| {
            let (file, project_id) = (PathBuf::from("/a"), "client-a".to_owned());
            let shown = render(&TrustResult { file, project_id, trusted, revoked });
            anstream::adapter::strip_str(&shown).to_string()
        };
        assert!(shown(true, false).starts_with("✓ /a: trusted;"));
        assert!(shown(false, true).starts_with("✓ /a: no longer trusted;"));
        assert!(shown(false, false).starts_with("! /a: was not trusted;"));
    }

    #[test]
    fn a_failed_replacement_leaves_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(SESSION_FILE)).unwrap();
        assert!(replace_session_file(folder.path(), "{}").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
