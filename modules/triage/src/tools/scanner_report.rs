//! Reads the report of a scanner from the call itself or from a file.

use std::path::{Path, PathBuf};

use serde_json::Value;

use contract::{ErrorCode, Fault, RepositoryAddress};
use engine::indexing::{OpenRoot, SkipReason};
use gate::app::blocking;
use gate::tools::Call;
use gate::tools::for_modules::indexable_roots;
use gate::tools::for_modules::require_relative;
use gate::tools::for_modules::{repository_root, require_path_outside_commit};
use tenancy::AllowedRoots;

/// The report of a scanner, and the name of the repository that contains its file.
pub(super) struct ScannerReport {
    pub(super) bytes: Vec<u8>,
    pub(super) repo: Option<String>,
}

/// The argument `payload` as a report: the text of a file, or JSON.
pub(super) fn report_from_payload(payload: Value, bytes_max: usize) -> Result<ScannerReport, Fault> {
    let bytes = match payload {
        Value::String(text) => text.into_bytes(),
        json => json.to_string().into_bytes(),
    };
    if bytes.len() > bytes_max {
        return Err(too_large(bytes_max));
    }
    Ok(ScannerReport { bytes, repo: None })
}

/// Reads the file `inputPath`: in a repository, or for the operator anywhere. Does not follow symbolic links.
pub(super) async fn report_from_file(
    call: &Call,
    project_id: Option<&str>,
    repo: Option<&str>,
    path: &str,
) -> Result<ScannerReport, Fault> {
    let bytes_max = call.app.config.triage.input_bytes_max;
    let (root, inside) = if Path::new(path).is_absolute() {
        split_absolute_path(call, path)?
    } else {
        (report_root(call, project_id, repo, path).await?, require_relative(path)?)
    };
    let repo = (!Path::new(path).is_absolute())
        .then(|| root.file_name().map(|name| name.to_string_lossy().into_owned()))
        .flatten();
    let named = path.to_owned();
    let bytes = blocking(move || {
        OpenRoot::open(&root)?
            .read_bytes(&inside, bytes_max as u64)
            .map_err(|reason| unreadable(&named, reason, bytes_max))
    })
    .await?;
    Ok(ScannerReport { bytes, repo })
}

/// Splits an absolute path into folder and file name; only for the operator.
fn split_absolute_path(call: &Call, path: &str) -> Result<(PathBuf, String), Fault> {
    if !call.caller.principal.is_operator() {
        return Err(Fault::new(ErrorCode::Forbidden, "Only the operator may use absolute paths.").with_hint(
            "Give a path relative to an indexed repository (repoPath), or send the report as payload.",
        ));
    }
    let malformed = || Fault::new(ErrorCode::InvalidRequest, "`inputPath` does not name a file.");
    let path = Path::new(path);
    let folder = path.parent().ok_or_else(malformed)?;
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(malformed)?;
    let folder = AllowedRoots::any().check(folder)?;
    Ok((folder.path().to_owned(), name.to_owned()))
}

/// The base of the relative `inputPath` `path`: for the operator any folder, for other callers an indexed repository of the project.
async fn report_root(
    call: &Call,
    project_id: Option<&str>,
    repo: Option<&str>,
    path: &str,
) -> Result<PathBuf, Fault> {
    let no_repository = || {
        Fault::new(ErrorCode::InvalidRequest, "The call names no repository.")
            .with_hint("Give repoPath, an absolute inputPath, or send the report as payload.")
    };
    let operator = call.caller.principal.is_operator();
    let folder = match (repo, &call.caller.directory) {
        (Some(repo), _) if operator && Path::new(repo).is_absolute() => PathBuf::from(repo),
        (Some(repo), _) => {
            let project = call.project(project_id).await?;
            let root = repository_root(call, &project, repo).await?;
            if !root.starts_with('/') && RepositoryAddress::parse(&root).is_none() {
                return Err(no_repository());
            }
            PathBuf::from(root)
        }
        (None, Some(directory)) if operator => directory.clone(),
        (None, _) => return Err(no_repository()),
    };
    call.set_repository(folder.to_string_lossy());
    let allowed = match operator {
        true => AllowedRoots::from_settings(&call.app.config.indexing),
        false => indexable_roots(call, project_id).await?,
    };
    let root = allowed.check(&folder)?;
    require_path_outside_commit(&root, "inputPath", Path::new(path)).map_err(|fault| {
        fault.with_hint("Give an absolute inputPath, if you are the operator, or send the report as payload.")
    })?;
    Ok(root.path().to_owned())
}

fn unreadable(path: &str, reason: SkipReason, bytes_max: usize) -> Fault {
    match reason {
        SkipReason::TooLarge => too_large(bytes_max),
        // Nothing was read before, so the file was not deleted but never existed.
        SkipReason::Gone => Fault::new(ErrorCode::NotFound, format!("There is no file `{path}`."))
            .with_hint("Check the path. If the file is not on the server, send the report as payload."),
        reason => Fault::new(ErrorCode::NotFound, format!("`{path}` cannot be read: {}", reason.sentence()))
            .with_hint("Check inputPath; symbolic links are not followed. Or send the report as payload."),
    }
}

fn too_large(bytes_max: usize) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, format!("The report has more than {bytes_max} bytes."))
        .with_hint("Send it in parts, or raise triage.input_bytes_max.")
}
