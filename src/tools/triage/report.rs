//! Where a report comes from: the call itself, or a file of a repository.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::app::blocking;
use crate::tools::Call;
use crate::tools::index::job;
use crate::tools::repository::repository;
use crate::tools::search::show_file::relative;
use contract::{ErrorCode, Fault};
use engine::indexing::Root;
use tenancy::AllowedRoots;

/// A report, and the name of the repository that it was found in.
pub(super) struct Report {
    pub(super) bytes: Vec<u8>,
    pub(super) repo: Option<String>,
}

/// A report that came with the call: a text as it would stand in a file, or JSON.
pub(super) fn sent(payload: Value, bytes_max: usize) -> Result<Report, Fault> {
    let bytes = match payload {
        Value::String(text) => text.into_bytes(),
        json => json.to_string().into_bytes(),
    };
    if bytes.len() > bytes_max {
        return Err(too_large(bytes_max));
    }
    Ok(Report { bytes, repo: None })
}

/// A report in a file: below the repository, or anywhere for who speaks for the installation. Links are not followed.
pub(super) async fn in_file(
    call: &Call,
    project_id: Option<&str>,
    repo: Option<&str>,
    path: &str,
) -> Result<Report, Fault> {
    let bytes_max = call.app.config.triage.input_bytes_max;
    let (root, inside) = if Path::new(path).is_absolute() {
        whole(call, path)?
    } else {
        (below(call, project_id, repo).await?, relative(path)?)
    };
    let repo = (!Path::new(path).is_absolute())
        .then(|| root.file_name().map(|name| name.to_string_lossy().into_owned()))
        .flatten();
    let named = path.to_owned();
    let bytes = blocking(move || {
        Root::open(&root)?.read_bytes(&inside, bytes_max as u64).map_err(|reason| {
            if reason == engine::indexing::SkipReason::TooLarge {
                return too_large(bytes_max);
            }
            Fault::new(ErrorCode::NotFound, format!("`{named}` cannot be read: {}", reason.sentence()))
                .with_hint("Check inputPath; links are not followed. Or send the report as payload.")
        })
    })
    .await?;
    Ok(Report { bytes, repo })
}

/// The folder and the name of an absolute path.
fn whole(call: &Call, path: &str) -> Result<(PathBuf, String), Fault> {
    if !call.caller.principal.is_operator() {
        return Err(Fault::new(ErrorCode::Forbidden, "Only the operator may name files by absolute paths.")
            .with_hint(
                "Give a path relative to an indexed repository (repoPath), or send the report as payload.",
            ));
    }
    let malformed = || Fault::new(ErrorCode::InvalidRequest, "inputPath names no file.");
    let path = Path::new(path);
    let folder = path.parent().ok_or_else(malformed)?;
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(malformed)?;
    let folder = AllowedRoots::any().check(folder)?;
    Ok((folder.path().to_owned(), name.to_owned()))
}

/// The repository that a relative path is meant in: for the operator a folder, for everybody else one that the project has
/// indexed.
async fn below(call: &Call, project_id: Option<&str>, repo: Option<&str>) -> Result<PathBuf, Fault> {
    let none = || {
        Fault::new(ErrorCode::InvalidRequest, "No repository was named.")
            .with_hint("Give repoPath, an absolute inputPath, or send the report as payload.")
    };
    let operator = call.caller.principal.is_operator();
    let folder = match (repo, &call.caller.directory) {
        (Some(repo), _) if operator && Path::new(repo).is_absolute() => PathBuf::from(repo),
        (Some(repo), _) => {
            let project = call.project(project_id).await?;
            let root = PathBuf::from(repository(call, &project, repo).await?);
            if !root.is_absolute() {
                return Err(none());
            }
            root
        }
        (None, Some(directory)) if operator => directory.clone(),
        (None, _) => return Err(none()),
    };
    call.about_repo(folder.to_string_lossy());
    let allowed = match operator {
        true => AllowedRoots::common(&call.app.config.indexing),
        false => job::indexable(call, project_id).await?,
    };
    let root = allowed.check(&folder)?;
    Ok(root.path().to_owned())
}

fn too_large(bytes_max: usize) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, format!("The report has more than {bytes_max} bytes."))
        .with_hint("Send it in parts, or raise triage.input_bytes_max.")
}
