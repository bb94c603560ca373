//! Arguments and progress reports that the artifact tools share: URLs, folders, fields that do not apply.

use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::tools::repository::require_path_outside_commit;
use crate::tools::{Call, ProgressUpdate, Surface};
use contract::{ErrorCode, Fault};
use tenancy::{AllowedRoots, RepositoryRoot};

/// Longest path in an argument, in bytes.
const PATH_BYTES_MAX: usize = 4096;
/// Maximum number of URLs in one call.
const URLS_MAX: usize = 16;

/// The argument `url`: one `name=url`, or several.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum UrlList {
    One(String),
    Many(Vec<String>),
}

impl JsonSchema for UrlList {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "UrlList".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "array"], "items": { "type": "string" }, "maxItems": URLS_MAX })
    }
}

impl UrlList {
    pub(super) fn into_urls(given: Option<Self>) -> Vec<String> {
        match given {
            None => Vec::new(),
            Some(Self::One(one)) => vec![one],
            Some(Self::Many(many)) => many,
        }
    }
}

/// Returns `true` if the call comes from the operator on this machine, over the command line or stdio.
pub(super) fn is_local_operator(call: &Call) -> bool {
    call.caller.principal.is_local && matches!(call.caller.surface, Surface::Cli | Surface::Stdio)
}

/// Resolves a path argument: absolute, or relative to `repoPath` or else to the caller's working directory.
///
/// # Errors
/// `INVALID_REQUEST` for a relative path without a base, or in a repository that is given by its address; for the base, the faults
/// of [`AllowedRoots::check`].
pub(super) fn resolve_path(call: &Call, repo_path: Option<&str>, given: &str) -> Result<PathBuf, Fault> {
    if given.is_empty() || given.len() > PATH_BYTES_MAX || given.contains('\0') {
        return Err(Fault::new(
            ErrorCode::InvalidRequest,
            "A path argument is empty, too long or malformed.",
        ));
    }
    let root = repo_path.map(|repo| named_root(call, repo)).transpose()?;
    if Path::new(given).is_absolute() {
        return Ok(given.into());
    }
    if let Some(root) = root {
        require_path_outside_commit(&root, given, Path::new(given))?;
        return Ok(root.path().join(given));
    }
    match &call.caller.directory {
        Some(base) => Ok(base.join(given)),
        None => Err(Fault::new(
            ErrorCode::InvalidRequest,
            format!("`{given}` is a relative path without a base."),
        )
        .with_hint("Give an absolute path, or the base in repoPath.")),
    }
}

/// The repository that the argument `repoPath` names.
///
/// # Errors
/// The faults of [`AllowedRoots::check`].
pub(super) fn named_root(call: &Call, repo: &str) -> Result<RepositoryRoot, Fault> {
    call.set_repository(repo);
    AllowedRoots::from_settings(&call.app.config.indexing).check(Path::new(repo))
}

/// Refuses fields that do not apply to the call instead of ignoring them. Each entry is a field and whether it was given.
///
/// # Errors
/// `INVALID_REQUEST` names the first field that was given.
pub(super) fn refuse_given(given: &[(&str, bool)], why: &str) -> Result<(), Fault> {
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((field, _)) => {
            Err(Fault::new(ErrorCode::InvalidRequest, format!("`{field}` cannot be used here: {why}."))
                .with_hint(format!("Omit `{field}`.")))
        }
        None => Ok(()),
    }
}

/// Reports the progress of consecutive downloads as one number that never decreases.
pub(super) fn download_progress(call: &Call) -> impl Fn(&str, u64, Option<u64>) + Sync + use<> {
    // `seen`: the name of the current download, the bytes of the previous ones, and its own bytes so far.
    let (progress, seen) = (call.progress.clone(), std::sync::Mutex::new((String::new(), 0_u64, 0_u64)));
    move |name: &str, done: u64, total: Option<u64>| {
        let mut seen = seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if seen.0 != name {
            *seen = (name.to_owned(), seen.1 + seen.2, 0);
        }
        seen.2 = seen.2.max(done);
        #[expect(clippy::cast_precision_loss, reason = "a progress bar needs no exact bytes")]
        let with_previous = |bytes: u64| (seen.1 + bytes) as f64;
        let message = format!("downloading {name}");
        progress.report(ProgressUpdate {
            phase: "download",
            done: with_previous(seen.2),
            total: total.map(with_previous),
            message,
            detail: None,
        });
    }
}
