//! `trust`: lets a repository's `.pairofcleats.json` select the project for calls that write.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};

use super::flags::absolute;
use super::output::{BOLD, GOOD, PATH, styled};
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
    if args.revoke {
        trust.revoke(&file)?;
    } else {
        trust.confirm(&file)?;
    }
    let trusted = TrustResult { file: file.path, project_id: file.project_id, trusted: !args.revoke };
    Ok(session.print_result(&trusted, &render(&trusted)))
}

fn render(trusted: &TrustResult) -> String {
    let TrustResult { file, project_id, trusted } = trusted;
    let file = styled(PATH, &file.display().to_string());
    let project = styled(BOLD, project_id);
    match trusted {
        true => format!(
            "{} {file}: trusted; calls from this folder write to the project {project}. A changed file must be trusted again.\n",
            styled(GOOD, "✓")
        ),
        false => format!(
            "{} {file}: no longer trusted; it selects the project {project} for reads only.\n",
            styled(GOOD, "✓")
        ),
    }
}

/// Writes the project to the folder's file and keeps its other settings. Replaces a symbolic link instead of following it.
fn write_project(folder: &Path, id: &ProjectId) -> Result<(), Fault> {
    let path = folder.join(SESSION_FILE);
    let refused = |error: io::Error| {
        Fault::new(ErrorCode::InvalidInput, format!("{} could not be written: {error}.", path.display()))
            .with_hint("Name a folder that you can write to.")
    };
    let mut settings: Map<String, Value> = match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Map::new(),
        Err(error) => return Err(refused(error)),
        Ok(found) if !found.is_file() || found.len() > SESSION_FILE_BYTES_MAX => Map::new(),
        Ok(_) => serde_json::from_slice(&read_session_file(&path).map_err(refused)?).map_err(|error| {
            Fault::new(
                ErrorCode::InvalidInput,
                format!("{} is not a valid JSON object: {error}.", path.display()),
            )
            .with_hint("Correct or remove it.")
        })?,
    };
    settings.insert("project_id".to_owned(), id.as_str().into());
    let unguessable = unguessable_id().map_err(|error| refused(io::Error::other(error)))?;
    let temporary = folder.join(format!("{SESSION_FILE}.{unguessable}.part"));
    // `create_new` and an unguessable name: a folder from elsewhere may hold links that lead out of it.
    fs::File::create_new(&temporary)
        .and_then(|mut file| file.write_all(format!("{:#}\n", Value::Object(settings)).as_bytes()))
        .and_then(|()| fs::rename(&temporary, &path))
        .map_err(refused)
}

/// The file's bytes, up to the size that sessions read.
fn read_session_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    safe_open::open_regular_file(path)?.take(SESSION_FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn no_session_file(folder: &Path) -> Fault {
    let message = format!(
        "Neither {} nor a folder above it contains a {SESSION_FILE} with a project.",
        folder.display()
    );
    Fault::new(ErrorCode::NotFound, message).with_hint("`pairofcleats trust --project ID` writes one.")
}
