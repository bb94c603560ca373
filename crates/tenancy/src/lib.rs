//! Whose data: which project a call is about, and that its workspace exists.
//!
//! A call goes [`resolve()`] (which project?; where nothing names one, [`Workflow`] may know), then [`open`] (is it
//! there?) or, when it writes, [`provision`] (make it so). What a repository's own file chose is written into only if
//! the user [`Trust`]s the file. Who calls is a [`Principal`]; [`TokenVerifier`] makes one of an access token.

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
pub use keys::{Issued, Keyring, NewKey, issue, list as list_keys, revoke};
pub use oauth::{Denied, ResourceMetadata, TokenVerifier, protected_resource_metadata};
pub use principal::{Principal, Projects, Scope};
pub use resolve::{
    Chosen, SESSION_FILE, SESSION_FILE_BYTES_MAX, Session, SessionFile, resolve, session_file,
};
pub use roots::{AllowedRoots, RepositoryRoot, check_settings};
pub use store::{DecidedBy, Project};
pub use trust::Trust;
pub use workflow::Workflow;

/// The project, if its workspace exists; never creates one. Tables of an older program are brought up to date.
///
/// # Errors
/// `ILLEGAL_STATE` for a project that a newer program wrote; storage faults.
pub async fn open(store: &Store, id: &ProjectId, decided_by: DecidedBy) -> Result<Option<Project>, Fault> {
    let asked = failpoints::lie("open").map(ProjectId::parse).transpose()?;
    let found = match store::projects::look(store, asked.as_ref().unwrap_or(id), decided_by).await? {
        Some((project, version)) if store::is_outdated(version) => {
            let model = project.model().clone();
            Some(store::provision(store, id, decided_by, &model).await?)
        }
        found => found.map(|(project, _)| project),
    };
    match found {
        Some(project) if project.id() != id => Err(mistaken()),
        found => Ok(found),
    }
}

/// The answer where another project was found than the one that was asked for: a defect, and nobody's data.
#[must_use]
pub fn mistaken() -> Fault {
    Fault::new(ErrorCode::Internal, "Another project was found than the one that was asked for.")
        .with_hint("Report it with the request id. Nothing of that project was read or written.")
}

/// The project, its workspace made on first use and then pinned to `model`; one that exists keeps its own. Only for
/// calls that write.
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

/// The answer where nothing has been indexed.
#[must_use]
pub fn no_index() -> Fault {
    Fault::new(ErrorCode::NoIndex, "Nothing has been indexed in this project yet.")
        .with_hint("Index a repository first: the tool `build_index`, or `pairofcleats index PATH`.")
}
