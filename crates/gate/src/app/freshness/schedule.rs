//! Refreshes indexed repositories periodically. The database decides which are due, so that several servers share the work.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;

use super::{RepositoryKey, indexed_repositories, run_job};
use crate::app::{App, index_job};
use contract::{Fault, ProjectId};
use engine::indexing::Options;

/// Number of checks per period.
const CHECKS_PER_PERIOD: u64 = 10;
/// Shortest and longest interval of checks.
const CHECK_MIN: Duration = Duration::from_millis(500);
const CHECK_MAX: Duration = Duration::from_secs(300);
/// Projects whose repositories are looked at together.
const PROJECTS_MAX: usize = 16;

/// Refreshes until the process shuts down.
pub(super) async fn run_schedule(app: &Arc<App>) {
    let every = app.config.freshness.every_ms;
    if every == 0 {
        return;
    }
    let pause = Duration::from_millis(every / CHECKS_PER_PERIOD).clamp(CHECK_MIN, CHECK_MAX);
    while !app.shutdown.is_cancelled() {
        match indexed_repositories(app).await {
            Ok(all) => {
                refresh_due(app, all, every).await;
            }
            Err(fault) => {
                tracing::warn!("the repositories that are due could not be listed: {}", fault.message)
            }
        }
        tokio::select! {
            () = app.shutdown.cancelled() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Refreshes the repositories that are due: those of a project one after another, without regard to other projects. Does not wait for those
/// whose host may be slow.
async fn refresh_due(app: &Arc<App>, all: Vec<RepositoryKey>, every_ms: u64) {
    let mut by_project: HashMap<ProjectId, Vec<RepositoryKey>> = HashMap::new();
    for key in all {
        by_project.entry(key.project.clone()).or_default().push(key);
    }
    let of_project = |keys: Vec<RepositoryKey>| async move {
        for key in keys {
            refresh_if_due(app, key, every_ms).await;
        }
    };
    // A few projects at a time; turns decide which of their runs execute.
    futures::stream::iter(by_project.into_values()).for_each_concurrent(PROJECTS_MAX, of_project).await;
}

/// Refreshes a repository if it is due, and waits for that unless its host may be slow.
async fn refresh_if_due(app: &Arc<App>, key: RepositoryKey, every_ms: u64) {
    if app.shutdown.is_cancelled() {
        return;
    }
    // The repository may exist only on another server.
    let Ok(root) = key.checked_root(app) else { return };
    let after_ms = every_ms.saturating_add(jitter_ms(&key, every_ms));
    match index_job::enqueue_if_due(app, &key.project, &root, after_ms).await {
        Ok(Some(enqueued)) => {
            let is_remote = key.is_remote();
            let (tasks, app) = (app.background.clone(), Arc::clone(app));
            let refreshing = async move {
                let refreshed = run_job(&app, &key, Some(enqueued), &Options::default(), "schedule").await;
                refreshed.map(drop).unwrap_or_else(|fault| warn(&key, &fault));
            };
            match is_remote {
                true => drop(tasks.spawn(refreshing)),
                false => refreshing.await,
            }
        }
        Ok(None) => {}
        Err(fault) => warn(&key, &fault),
    }
}

fn warn(key: &RepositoryKey, fault: &Fault) {
    tracing::warn!(repository = %key.root.display(), project = key.project.as_str(), code = %fault.code,
        "the index could not be refreshed: {}", fault.message);
}

/// Up to a tenth of the period, constant for a repository, so that repositories indexed together do not stay synchronised.
fn jitter_ms(repository_key: &RepositoryKey, every_ms: u64) -> u64 {
    let mut hash = blake3::Hasher::new();
    hash.update(repository_key.project.as_str().as_bytes());
    hash.update(repository_key.root.as_os_str().as_encoded_bytes());
    let bytes: [u8; 4] = hash.finalize().as_bytes()[..4].try_into().unwrap_or_default();
    (every_ms / 10).saturating_mul(u64::from(u32::from_le_bytes(bytes))) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_are_spread_over_a_tenth_of_the_period() {
        let repository_key = |n: u32| RepositoryKey {
            project: ProjectId::default_workspace(),
            root: format!("/r/{n}").into(),
        };
        let spread: Vec<u64> = (0..100).map(|n| jitter_ms(&repository_key(n), 3_600_000)).collect();
        assert!(spread.iter().all(|ms| *ms < 360_000), "{spread:?}");
        assert!(spread.iter().max() > Some(&300_000) && spread.iter().min() < Some(&60_000), "{spread:?}");
        assert_eq!(jitter_ms(&repository_key(1), 0), 0);
    }
}
