//! What the artifact tools read alike: addresses, folders, progress.

use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::tools::{Call, ProgressUpdate, Surface};
use contract::{ErrorCode, Fault};
use tenancy::AllowedRoots;

/// Longest path of an argument.
const PATH_CHARS_MAX: usize = 4096;
/// Most addresses of a call.
const ADDRESSES_MAX: usize = 16;

/// `name=url`, one or several.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Addresses {
    One(String),
    Many(Vec<String>),
}

impl JsonSchema for Addresses {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Addresses".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "array"], "items": { "type": "string" }, "maxItems": ADDRESSES_MAX })
    }
}

impl Addresses {
    pub(super) fn list(given: Option<Self>) -> Vec<String> {
        match given {
            None => Vec::new(),
            Some(Self::One(one)) => vec![one],
            Some(Self::Many(many)) => many,
        }
    }
}

/// Whether the operator calls in person: on the command line or over stdio, on this machine.
pub(super) fn in_person(call: &Call) -> bool {
    call.caller.principal.is_local && matches!(call.caller.surface, Surface::Cli | Surface::Stdio)
}

/// A path that the caller names: absolute, or below `repoPath`, or below the directory that the caller works in.
///
/// # Errors
/// `INVALID_REQUEST` for a relative one with nothing that it is relative to, and as [`AllowedRoots::check`].
pub(super) fn path(call: &Call, repo_path: Option<&str>, given: &str) -> Result<PathBuf, Fault> {
    if given.is_empty() || given.len() > PATH_CHARS_MAX || given.contains('\0') {
        return Err(Fault::new(ErrorCode::InvalidRequest, "A path is empty, too long or malformed."));
    }
    let base = base(call, repo_path)?;
    if Path::new(given).is_absolute() {
        return Ok(given.into());
    }
    match base {
        Some(base) => Ok(base.join(given)),
        None => Err(Fault::new(ErrorCode::InvalidRequest, format!("`{given}` is relative, and to nothing."))
            .with_hint("Give an absolute path, or repoPath as what it is relative to.")),
    }
}

/// What relative paths of the call are below.
pub(super) fn base(call: &Call, repo_path: Option<&str>) -> Result<Option<PathBuf>, Fault> {
    match repo_path {
        Some(repo) => {
            call.about_repo(repo);
            let root = AllowedRoots::common(&call.app.config.indexing).check(Path::new(repo))?;
            Ok(Some(root.path().to_owned()))
        }
        None => Ok(call.caller.directory.clone()),
    }
}

/// Refuses fields that are of no use to what was asked for, rather than ignoring them.
///
/// # Errors
/// `INVALID_REQUEST` names the first that was given.
pub(super) fn refuse(given: &[(&str, bool)], why: &str) -> Result<(), Fault> {
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((field, _)) => {
            Err(Fault::new(ErrorCode::InvalidRequest, format!("`{field}` is reserved: {why}."))
                .with_hint(format!("Leave `{field}` out.")))
        }
        None => Ok(()),
    }
}

/// Passes the progress of one download after the other on, so that the number never falls.
pub(super) fn progress(call: &Call) -> impl Fn(&str, u64, Option<u64>) + Sync + use<> {
    let (progress, seen) = (call.progress.clone(), std::sync::Mutex::new((String::new(), 0_u64, 0_u64)));
    move |name: &str, done: u64, total: Option<u64>| {
        let mut seen = seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if seen.0 != name {
            *seen = (name.to_owned(), seen.1 + seen.2, 0);
        }
        seen.2 = seen.2.max(done);
        #[expect(clippy::cast_precision_loss, reason = "for a bar")]
        let of = |bytes: u64| (seen.1 + bytes) as f64;
        let message = format!("downloading {name}");
        progress.report(ProgressUpdate {
            phase: "download",
            done: of(seen.2),
            total: total.map(of),
            message,
            detail: None,
        });
    }
}
