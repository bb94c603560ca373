//! Brings a project's portable file up to date after an index run.

use tokio_util::sync::CancellationToken;

use crate::app::App;
use contract::Fault;
use engine::indexing::SqliteFile;
use store::{Project, Store};
use upkeep::portable::{BuildRequest, IndexPart, build_portable, portable_file_name};

/// Brings the project's portable file up to date.
///
/// # Errors
/// As [`build_portable`].
pub async fn export(
    app: &App,
    store: &Store,
    project: &Project,
    cancel: &CancellationToken,
) -> Result<SqliteFile, Fault> {
    let name = portable_file_name(IndexPart::All, None);
    let built = build_portable(&BuildRequest {
        store,
        project,
        root: None,
        part: IndexPart::All,
        out: &app.layout.project(project.id().as_str()).join(&name),
        incremental: true,
        compact: false,
        settings: &app.config.portable,
        clock: &*app.clock,
        cancel,
        progress: &|_, _| {},
    })
    .await?;
    Ok(SqliteFile { name, bytes: built.bytes, sha256: built.sha256, incremental: built.fallback.is_none() })
}
