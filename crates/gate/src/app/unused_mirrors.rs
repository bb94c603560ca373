//! Mirrors that no project uses any more.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::project_repositories::project_repositories;
use super::{App, blocking};
use contract::{Fault, RepositoryAddress};
use mirrors::UnusedMirror;
use store::{DecidedBy, RepositoryRow, projects};

/// A mirror that was fetched more recently may belong to a run whose repository has no row yet.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// Time between two collections of a server.
const COLLECTED_EVERY: Duration = Duration::from_secs(6 * 60 * 60);

/// Removes unused mirrors from time to time until the process shuts down.
pub(super) async fn collect_regularly(app: &Arc<App>) {
    loop {
        tokio::select! {
            () = app.shutdown.cancelled() => return,
            () = tokio::time::sleep(COLLECTED_EVERY) => {}
        }
        let unused = match unused_mirrors(app).await {
            Ok(unused) => unused,
            Err(fault) => {
                tracing::warn!("unused mirrors could not be listed: {}", fault.message);
                continue;
            }
        };
        for mirror in unused {
            let address = mirror.address.clone().unwrap_or_default();
            match remove_mirror(app, mirror).await {
                Ok(true) => tracing::info!(address, "an unused mirror was removed"),
                Ok(false) => {}
                Err(fault) => tracing::warn!(address, "an unused mirror was not removed: {fault}"),
            }
        }
    }
}

/// The mirrors that neither a repository of any project nor a site of the settings has needed for a day: the mirror of a site holds the only copy of what
/// was written for it.
///
/// # Errors
/// Storage faults. A project that cannot be read is one of them, because it may use any mirror.
pub async fn unused_mirrors(app: &App) -> Result<Vec<UnusedMirror>, Fault> {
    let store = app.store().await?;
    let mut tx = store.control_read().await?;
    let all = projects::list(&mut tx).await?;
    tx.commit().await?;
    let (mut used, mut used_archives) = (app.config.mirrored_addresses(), Vec::new());
    for summary in all {
        let Some(project) = tenancy::open(store, &summary.id, DecidedBy::Argument).await? else { continue };
        let rows = project_repositories(store, &project).await?;
        used.extend(rows.iter().filter_map(|row| RepositoryAddress::parse(&row.root)?.ok()));
        let archives = rows.into_iter().filter(RepositoryRow::is_archive);
        used_archives.extend(archives.filter_map(|row| Some((PathBuf::from(row.root), row.commit?))));
    }
    let (mirrors, archives) = (app.mirrors(), app.archives());
    blocking(move || {
        let mut unused = mirrors.unused(&used, KEPT)?;
        unused.extend(archives.unused(&used_archives, KEPT)?);
        Ok(unused)
    })
    .await
}

/// Removes an unused mirror, unless it is needed by now. Returns whether it was removed.
///
/// # Errors
/// `INTERNAL` if it cannot be removed.
pub async fn remove_mirror(app: &App, mirror: UnusedMirror) -> Result<bool, Fault> {
    let mirrors = app.mirrors();
    blocking(move || mirrors.remove(&mirror, KEPT)).await
}
