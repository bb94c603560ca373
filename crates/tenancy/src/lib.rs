//! Tenancy: the project of a call, its workspace, and the permissions of the caller.
//!
//! [`resolve()`] chooses the project of a call; if nothing names one, [`Workflow`] can supply it. Then [`open`] opens
//! its workspace, or [`provision`] creates it for a call that writes. If a file of the repository chose the project,
//! calls may write only after the user has confirmed that file ([`Trust`]). The caller is a [`Principal`]: [`Keyring`]
//! finds it by an API key, [`TokenVerifier`] by an access token.

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod grants;
mod keys;
mod oauth;
mod principal;
mod resolve;
mod roots;
mod trust;
mod workflow;

use contract::{ErrorCode, Fault, ProjectId};
use platform::failpoints;
use store::{self, ModelFacts, Store};

pub use grants::who_may_index;
pub use keys::{
    IssuedKey, KeyAuthor, Keyring, NewKey, issue_key, issue_key_as, list_keys, revoke_key, revoke_key_as,
};
pub use oauth::{
    ResourceMetadata, SignInAttempt, SignInClient, TokenError, TokenVerifier, protected_resource_metadata,
};
pub use principal::{Principal, Projects, Scope};
pub use resolve::{
    ChosenProject, SESSION_FILE, SESSION_FILE_BYTES_MAX, Session, SessionFile, read_session_file, resolve,
    session_file,
};
pub use roots::{
    AllowedRoots, RepositoryRoot, RootKind, check_root_settings, check_watch_settings, require_watchable,
};
pub use store::{DecidedBy, Project};
pub use trust::{Revocation, Trust};
pub use workflow::Workflow;

/// Opens a project if its workspace exists. Migrates tables that an older version wrote; a project that a newer version wrote is
/// read-only.
///
/// # Errors
/// Those of [`provision`] if tables have to be migrated; storage faults.
pub async fn open(store: &Store, id: &ProjectId, decided_by: DecidedBy) -> Result<Option<Project>, Fault> {
    // Tests make this look-up return another project; the comparison below must notice.
    let other = failpoints::wrong_lookup("open").map(ProjectId::parse).transpose()?;
    let sought = other.as_ref().unwrap_or(id);
    match store::projects::find_without_transaction(store, sought, decided_by).await? {
        Some((project, _)) if project.id() != id => Err(wrong_project()),
        Some((project, version)) if store::is_outdated(version) => {
            store::provision(store, id, decided_by, &project.model().clone()).await.map(Some)
        }
        found => Ok(found.map(|(project, _)| project)),
    }
}

/// The fault when a look-up returns a different project from the requested one: a defect, answered without any data.
#[must_use]
pub fn wrong_project() -> Fault {
    Fault::new(ErrorCode::Internal, "A look-up returned another project than the requested one.")
        .with_hint("Report it with the request id. Nothing of that project was read or written.")
}

/// Opens a project and creates its workspace on first use, pinned to `model`; an existing one keeps its own model. Only
/// for calls that write.
///
/// # Errors
/// `PERMISSION_DENIED` when the database login may not create it; storage faults.
pub async fn provision(
    store: &Store,
    id: &ProjectId,
    decided_by: DecidedBy,
    model: &ModelFacts,
) -> Result<Project, Fault> {
    store::provision(store, id, decided_by, model).await
}

/// Opens a project that the caller named.
///
/// # Errors
/// `NO_INDEX` if its workspace does not exist; otherwise as [`open`].
pub async fn require(store: &Store, id: &ProjectId) -> Result<Project, Fault> {
    open(store, id, DecidedBy::Argument).await?.ok_or_else(|| no_index(id))
}

/// The fault of a project without an index. A project that the caller may not use gets the same one.
#[must_use]
pub fn no_index(id: &ProjectId) -> Fault {
    let message = match id.public() {
        None => "Nothing has been indexed yet.".to_owned(),
        Some(id) => format!("There is no project `{id}`, or nothing has been indexed in it yet."),
    };
    Fault::new(ErrorCode::NoIndex, message)
        .with_hint("Index a repository first: the tool `build_index`, or `pairofcleats index PATH`.")
}
