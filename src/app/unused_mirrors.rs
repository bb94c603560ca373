//! Mirrors that no project uses any more.

use std::time::Duration;

use super::{App, blocking};
use contract::{Fault, RepositoryAddress};
use mirrors::UnusedMirror;
use store::{Access, DecidedBy, ProjectTx, projects, repositories};

/// A mirror that was fetched more recently may belong to a run whose repository has no row yet.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// The mirrors that no repository of any project has needed for a day.
///
/// # Errors
/// Storage faults. A project that cannot be read is one of them, because it may use any mirror.
pub async fn unused_mirrors(app: &App) -> Result<Vec<UnusedMirror>, Fault> {
    let store = app.store().await?;
    let mut tx = store.control_read().await?;
    let all = projects::list(&mut tx).await?;
    tx.commit().await?;
    let mut used = Vec::new();
    for summary in all {
        let Some(project) = tenancy::open(store, &summary.id, DecidedBy::Argument).await? else { continue };
        let mut tx = ProjectTx::begin(store, &project, Access::Search).await?;
        let rows = repositories::list(&mut tx).await?;
        tx.commit().await?;
        used.extend(rows.iter().filter_map(|row| RepositoryAddress::parse(&row.root)?.ok()));
    }
    let mirrors = app.mirrors();
    blocking(move || {
        mirrors
            .unused(&used, KEPT)
            .map_err(|error| Fault::internal("The mirrors could not be listed.", error))
    })
    .await
}
