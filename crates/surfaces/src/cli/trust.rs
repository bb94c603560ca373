//! `trust`: lets a repository's `.pairofcleats.json` select the project for calls that write.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};

use super::flags::{absolute, parse_project_id};
use super::output::{BOLD, GOOD, NOTE, PATH, styled};
use super::session::{CommandResult, Session};
use crate::answer::unguessable_id;
use contract::{ErrorCode, Fault, ProjectId};
use tenancy::{Revocation, SESSION_FILE, SESSION_FILE_BYTES_MAX, Trust, read_session_file, session_file};

/// Arguments of `trust`.
#[derive(Debug, clap::Args)]
pub(super) struct TrustArgs {
    /// Folder; the nearest .pairofcleats.json in it or above it is trusted
    #[arg(default_value = ".", value_parser = absolute)]
    path: String,
    /// First write this project to the folder's .pairofcleats.json
    #[arg(long, value_name = "ID", value_parser = parse_project_id, conflicts_with = "revoke")]
    project: Option<ProjectId>,
    /// Revoke the trust, also if the file is gone or cannot be read
    #[arg(long)]
    revoke: bool,
}

/// The result that `--json` prints.
#[derive(Debug, Serialize)]
struct TrustResult {
    file: PathBuf,
    /// Absent if the trust is revoked and the file does not name a project.
    #[serde(skip_serializing_if = "Option::is_none")]
    project_id: Option<String>,
    trusted: bool,
    /// `true` if this call withdrew existing trust.
    revoked: bool,
}

/// Entry point of `trust`.
pub(super) async fn trust_session_file(session: &Session, args: TrustArgs) -> CommandResult {
    let path = PathBuf::from(&args.path);
    let folder = if path.ends_with(SESSION_FILE) { path.parent().unwrap_or(&path) } else { &path };
    let trust = Trust::new(&session.app.layout);
    let done = match args.revoke {
        true => revoke(&trust, folder)?,
        false => confirm(&trust, folder, args.project.as_ref())?,
    };
    Ok(session.print_result(&done, &render(&done)))
}

fn confirm(trust: &Trust, folder: &Path, project: Option<&ProjectId>) -> Result<TrustResult, Fault> {
    if let Some(id) = project {
        write_project(folder, id)?;
    }
    let file = session_file(folder)?.ok_or_else(|| no_session_file(folder))?;
    // Every later call would refuse a file with an invalid project ID.
    ProjectId::parse(&file.project_id).map_err(Fault::from)?;
    trust.confirm(&file)?;
    Ok(TrustResult { file: file.path, project_id: Some(file.project_id), trusted: true, revoked: false })
}

fn revoke(trust: &Trust, folder: &Path) -> Result<TrustResult, Fault> {
    let revocation = trust.revoke_nearest(folder)?.ok_or_else(|| nothing_to_revoke(folder))?;
    let Revocation { file, project_id, was_confirmed } = revocation;
    Ok(TrustResult { file, project_id, trusted: false, revoked: was_confirmed })
}

fn render(result: &TrustResult) -> String {
    let TrustResult { file, project_id, trusted, revoked } = result;
    let file = styled(PATH, &file.display().to_string());
    let project = styled(BOLD, project_id.as_deref().unwrap_or_default());
    let selects = match project_id {
        Some(_) => format!("; it selects the project {project} for reads only"),
        None => String::new(),
    };
    match (trusted, revoked) {
        (true, _) => format!(
            "{} {file}: trusted; calls from this folder write to the project {project}. A changed file must be trusted again.\n",
            styled(GOOD, "✓")
        ),
        (false, true) => format!("{} {file}: no longer trusted{selects}.\n", styled(GOOD, "✓")),
        (false, false) => format!("{} {file}: was not trusted{selects}.\n", styled(NOTE, "!")),
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
    // Indenting can make a short text too long for sessions.
    if text.len() as u64 > SESSION_FILE_BYTES_MAX {
        return Err(unusable(format_args!("would have more than {SESSION_FILE_BYTES_MAX} bytes")));
    }
    replace_session_file(folder, &text).map_err(not_written)
}

/// Writes the folder's file under a temporary name, then renames it.
fn replace_session_file(folder: &Path, text: &str) -> io::Result<()> {
    let unguessable = unguessable_id().map_err(io::Error::other)?;
    let temporary = folder.join(format!("{SESSION_FILE}.{unguessable}.part"));
    // `create_new` and an unguessable name: an untrusted folder may hold links that lead out of it.
    let mut file = fs::File::create_new(&temporary)?;
    let replaced =
        file.write_all(text.as_bytes()).and_then(|()| fs::rename(&temporary, folder.join(SESSION_FILE)));
    if replaced.is_err() {
        // The first error is reported.
        let _ = fs::remove_file(&temporary);
    }
    replaced
}

fn no_session_file(folder: &Path) -> Fault {
    let message = format!(
        "Neither {} nor a folder above it contains a {SESSION_FILE} with a project.",
        folder.display()
    );
    Fault::new(ErrorCode::NotFound, message).with_hint("`pairofcleats trust --project ID` writes one.")
}

fn nothing_to_revoke(folder: &Path) -> Fault {
    let message = format!(
        "Neither {} nor a folder above it contains a {SESSION_FILE} with a project or one that was trusted.",
        folder.display()
    );
    Fault::new(ErrorCode::NotFound, message).with_hint("Name the folder of the file.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revocation_without_trust_reads_differently() {
        let shown = |project_id: Option<&str>, trusted, revoked| {
            let (file, project_id) = (PathBuf::from("/a"), project_id.map(str::to_owned));
            let shown = render(&TrustResult { file, project_id, trusted, revoked });
            anstream::adapter::strip_str(&shown).to_string()
        };
        let project = Some("client-a");
        assert!(shown(project, true, false).starts_with("✓ /a: trusted;"));
        assert!(shown(project, false, true).starts_with("✓ /a: no longer trusted; it selects"));
        assert!(shown(project, false, false).starts_with("! /a: was not trusted;"));
        assert_eq!(shown(None, false, true), "✓ /a: no longer trusted.\n");
    }

    #[test]
    fn a_failed_replacement_leaves_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(SESSION_FILE)).unwrap();
        assert!(replace_session_file(folder.path(), "{}").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
