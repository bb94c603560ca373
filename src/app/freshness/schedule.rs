//! Refreshes indexed repositories periodically. The database decides which are due, so that several servers share the work.

use std::sync::Arc;
use std::time::Duration;

use super::{RepositoryKey, indexed_repositories, run_job};
use crate::app::{App, index_job};
use contract::Fault;

/// Number of checks per period.
const CHECKS_PER_PERIOD: u64 = 10;
/// Shortest and longest interval of checks.
const CHECK_MIN: Duration = Duration::from_millis(500);
const CHECK_MAX: Duration = Duration::from_secs(300);

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
                for repository_key in &all {
                    if let Err(fault) = refresh_if_due(app, repository_key, every).await {
                        tracing::warn!(repository = %repository_key.root.display(), project = repository_key.project.as_str(),
                            code = %fault.code, "the index could not be refreshed: {}", fault.message);
                    }
                }
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

async fn refresh_if_due(app: &Arc<App>, repository_key: &RepositoryKey, every_ms: u64) -> Result<(), Fault> {
    if app.shutdown.is_cancelled() {
        return Ok(());
    }
    // The repository may exist only on another server.
    let Ok(root) = repository_key.checked_root(app) else { return Ok(()) };
    let after_ms = every_ms.saturating_add(jitter_ms(repository_key, every_ms));
    match index_job::enqueue_if_due(app, &repository_key.project, &root, after_ms).await? {
        Some(enqueued) => run_job(app, repository_key, Some(enqueued), "schedule").await.map(drop),
        None => Ok(()),
    }
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
    use contract::ProjectId;

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
