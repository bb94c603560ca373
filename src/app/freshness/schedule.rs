//! Refreshes indexed repositories whose last run is long ago. Which are due is asked of the database, where all servers
//! see the same runs, so that several of them do the work of one.

use std::sync::Arc;
use std::time::Duration;

use super::{Kept, indexed, run};
use crate::app::{App, index_job};
use contract::Fault;

/// Looks a period.
const LOOKS: u64 = 10;
const LOOK_MIN: Duration = Duration::from_millis(500);
const LOOK_MAX: Duration = Duration::from_secs(300);

/// Refreshes until the process shuts down.
pub(super) async fn schedule(app: &Arc<App>) {
    let every = app.config.freshness.every_ms;
    if every == 0 {
        return;
    }
    let pause = Duration::from_millis(every / LOOKS).clamp(LOOK_MIN, LOOK_MAX);
    while !app.shutdown.is_cancelled() {
        match indexed(app).await {
            Ok(all) => {
                for kept in &all {
                    if let Err(fault) = refresh_if_due(app, kept, every).await {
                        tracing::warn!(repository = %kept.root.display(), project = kept.project.as_str(),
                            code = %fault.code, "the index could not be refreshed: {}", fault.message);
                    }
                }
            }
            Err(fault) => tracing::warn!("which repositories are due is not known: {}", fault.message),
        }
        tokio::select! {
            () = app.shutdown.cancelled() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

async fn refresh_if_due(app: &Arc<App>, kept: &Kept, every_ms: u64) -> Result<(), Fault> {
    if app.shutdown.is_cancelled() {
        return Ok(());
    }
    // One that is not there, or not here: another server may have it.
    let Ok(root) = kept.root(app) else { return Ok(()) };
    let after_ms = every_ms.saturating_add(spread(kept, every_ms));
    match index_job::ask_if_due(app, &kept.project, &root, after_ms).await? {
        Some(asked) => run(app, kept, Some(asked), "schedule").await.map(drop),
        None => Ok(()),
    }
}

/// A part of a tenth of the period, always the same for a repository: those that were indexed together drift apart.
fn spread(kept: &Kept, every_ms: u64) -> u64 {
    let mut hash = blake3::Hasher::new();
    hash.update(kept.project.as_str().as_bytes());
    hash.update(kept.root.as_os_str().as_encoded_bytes());
    let bytes: [u8; 4] = hash.finalize().as_bytes()[..4].try_into().unwrap_or_default();
    (every_ms / 10).saturating_mul(u64::from(u32::from_le_bytes(bytes))) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::ProjectId;

    #[test]
    fn repositories_are_spread_over_a_tenth_of_the_period() {
        let kept = |n: u32| Kept { project: ProjectId::default_workspace(), root: format!("/r/{n}").into() };
        let spread: Vec<u64> = (0..100).map(|n| spread(&kept(n), 3_600_000)).collect();
        assert!(spread.iter().all(|ms| *ms < 360_000), "{spread:?}");
        assert!(spread.iter().max() > Some(&300_000) && spread.iter().min() < Some(&60_000), "{spread:?}");
        assert_eq!(super::spread(&kept(1), 0), 0);
    }
}
