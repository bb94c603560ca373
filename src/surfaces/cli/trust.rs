//! `trust`: lets a repository's `.pairofcleats.json` choose the project of calls that write.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};

use super::arguments::absolute;
use super::output::{BOLD, GOOD, PATH, styled};
use super::projects::project;
use super::session::{Exit, Ran, Session};
use crate::surfaces::answer;
use crate::surfaces::answer::unguessable_id;
use contract::{ErrorCode, Fault, ProjectId};
use platform::beneath;
use tenancy::{SESSION_FILE, SESSION_FILE_BYTES_MAX, Trust, session_file};

/// Arguments of `trust`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The folder; the nearest .pairofcleats.json from here upward is meant
    #[arg(default_value = ".", value_parser = absolute)]
    path: String,
    /// Write this project into the folder's .pairofcleats.json first
    #[arg(long, value_name = "ID", value_parser = project, conflicts_with = "revoke")]
    project: Option<ProjectId>,
    /// Take the confirmation back
    #[arg(long)]
    revoke: bool,
}

/// The result that `--json` prints.
#[derive(Debug, Serialize)]
struct Trusted {
    file: PathBuf,
    project_id: String,
    trusted: bool,
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: Args) -> Ran {
    let path = PathBuf::from(&args.path);
    let folder = if path.ends_with(SESSION_FILE) { path.parent().unwrap_or(&path) } else { &path };
    if let Some(id) = &args.project {
        write(folder, id)?;
    }
    let file = session_file(folder)?.ok_or_else(|| none(folder))?;
    // One that names no project would be refused with each call.
    ProjectId::parse(&file.project_id).map_err(Fault::from)?;
    let trust = Trust::new(&session.app.layout);
    if args.revoke {
        trust.remove(&file)?;
    } else {
        trust.add(&file)?;
    }
    let trusted = Trusted { file: file.path, project_id: file.project_id, trusted: !args.revoke };
    if session.output.json {
        let result = serde_json::to_value(trusted).unwrap_or_default();
        session.output.line(&answer::json(&answer::succeeded(&session.app, result, None)).to_string());
    } else {
        session.output.text(&render(&trusted));
    }
    Ok(Exit::Ok)
}

fn render(trusted: &Trusted) -> String {
    let Trusted { file, project_id, trusted } = trusted;
    let file = styled(PATH, &file.display().to_string());
    let project = styled(BOLD, project_id);
    match trusted {
        true => format!(
            "{} {file}: calls from here write into the project {project}. If the file changes, it asks again.\n",
            styled(GOOD, "✓")
        ),
        false => format!("{} {file}: chooses the project {project} for reading only.\n", styled(GOOD, "✓")),
    }
}

/// Puts the project into the folder's own file; its other settings stay. A link is replaced, not written through.
fn write(folder: &Path, id: &ProjectId) -> Result<(), Fault> {
    let path = folder.join(SESSION_FILE);
    let refused = |error: io::Error| {
        Fault::new(ErrorCode::InvalidInput, format!("{} cannot be written: {error}.", path.display()))
            .with_hint("Name a folder that you may write to.")
    };
    let mut settings: Map<String, Value> = match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Map::new(),
        Err(error) => return Err(refused(error)),
        Ok(found) if !found.is_file() || found.len() > SESSION_FILE_BYTES_MAX => Map::new(),
        Ok(_) => serde_json::from_slice(&read(&path).map_err(refused)?).map_err(|error| {
            Fault::new(ErrorCode::InvalidInput, format!("{} is no JSON object: {error}.", path.display()))
                .with_hint("Correct or remove it.")
        })?,
    };
    settings.insert("project_id".to_owned(), id.as_str().into());
    let unguessable = unguessable_id().map_err(|error| refused(io::Error::other(error)))?;
    let aside = folder.join(format!("{SESSION_FILE}.{unguessable}.part"));
    // A new file: what a stranger's folder holds of that name, a link perhaps, is not written into.
    fs::File::create_new(&aside)
        .and_then(|mut file| file.write_all(format!("{:#}\n", Value::Object(settings)).as_bytes()))
        .and_then(|()| fs::rename(&aside, &path))
        .map_err(refused)
}

/// The file's bytes, as far as it is one that is read.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    beneath::open_named(path)?.take(SESSION_FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn none(folder: &Path) -> Fault {
    let message =
        format!("Neither {} nor a folder above it has a {SESSION_FILE} with a project.", folder.display());
    Fault::new(ErrorCode::NotFound, message).with_hint("`pairofcleats trust --project ID` writes one.")
}
