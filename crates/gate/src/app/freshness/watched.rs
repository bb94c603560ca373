//! The repositories that a server watches: follows the settings and the indexed repositories as they change.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::follow::{RunOutcome, WatchEvent, follow};
use super::{RepositoryKey, indexed_repositories, run_job};
use crate::app::{App, index_job};
use contract::config::WatchedRepositories;
use contract::{Fault, ProjectId};
use engine::indexing::Options;
use store::jobs::QueueMark;
use tenancy::RepositoryRoot;

/// After the list was read, the pause before it is read again is at least this many times as long as that took.
const LIST_PAUSE_FACTOR: u32 = 10;

/// Watches until the process shuts down.
pub(super) async fn watch_repositories(app: &Arc<App>) {
    if matches!(&app.config.freshness.watch, WatchedRepositories::Listed(none) if none.is_empty()) {
        return;
    }
    let mut watches = Watches::default();
    while !app.shutdown.is_cancelled() {
        // Read before the list, so that no run ends unnoticed between the two.
        let mark = queue_mark(app).await;
        let started = Instant::now();
        match repositories_to_watch(app).await {
            Ok(wanted) => watches.update(app, wanted),
            Err(fault) => tracing::warn!("the repositories to watch could not be listed: {}", fault.message),
        }
        let pause = started.elapsed() * LIST_PAUSE_FACTOR;
        tokio::select! {
            () = app.shutdown.cancelled() => {}
            Some(Ok(ended)) = watches.tasks.join_next() => { watches.followed.remove(&ended); }
            () = run_ended(app, mark, pause) => {}
            () = tokio::time::sleep(Duration::from_millis(app.config.freshness.refresh_ms.max(1))) => {}
        }
    }
    // Wait until each task has given its run back to the queue.
    while watches.tasks.join_next().await.is_some() {}
}

/// The state of the queue of runs; `None` if it could not be read.
async fn queue_mark(app: &App) -> Option<QueueMark> {
    let read = async {
        let mut tx = app.store().await?.control_read().await?;
        let mark = store::jobs::queue_mark(&mut tx, &[index_job::KIND.name]).await?;
        tx.commit().await?;
        Ok::<_, Fault>(mark)
    };
    read.await.inspect_err(|fault| tracing::debug!(%fault, "the queue could not be read")).ok()
}

/// Completes once the queue differs from `mark`, through this process or another one: the list of repositories may have changed. Asks at
/// most every `freshness.notice_ms`, and not before `pause`. Never completes if the settings list the repositories.
async fn run_ended(app: &App, mark: Option<QueueMark>, pause: Duration) {
    if matches!(app.config.freshness.watch, WatchedRepositories::Listed(_)) {
        return std::future::pending().await;
    }
    let every = Duration::from_millis(app.config.freshness.notice_ms.max(1));
    tokio::time::sleep(pause.max(every)).await;
    loop {
        let now = queue_mark(app).await;
        if now.is_some() && now != mark {
            return;
        }
        tokio::time::sleep(every).await;
    }
}

/// The repositories that should be watched now.
async fn repositories_to_watch(app: &App) -> Result<Vec<RepositoryKey>, Fault> {
    let list = match &app.config.freshness.watch {
        WatchedRepositories::All(_) => {
            let mut all = indexed_repositories(app).await?;
            // Repositories on other machines are fetched on a schedule, and when their hosts report a change.
            all.retain(|key| !key.is_remote());
            return Ok(all);
        }
        WatchedRepositories::Listed(list) => list,
    };
    let keys = list.iter().map(|one| {
        let project =
            one.project.as_deref().map_or_else(|| Ok(ProjectId::default_workspace()), ProjectId::parse)?;
        // The index stores canonical paths.
        let root = one.path.canonicalize().unwrap_or_else(|_| one.path.clone());
        Ok(RepositoryKey { project, root })
    });
    keys.collect()
}

/// The repositories that are watched now.
#[derive(Default)]
struct Watches {
    followed: HashMap<RepositoryKey, CancellationToken>,
    tasks: JoinSet<RepositoryKey>,
    /// Repositories that cannot be watched, to log each only once.
    refused: HashSet<RepositoryKey>,
    /// Number of repositories over the limit when it was last logged.
    left_out: usize,
}

impl Watches {
    /// Starts and stops watches to match `wanted`, up to `freshness.repositories_max`. Existing watches have priority; a repository
    /// that cannot be watched does not count.
    fn update(&mut self, app: &Arc<App>, wanted: Vec<RepositoryKey>) {
        self.followed.retain(|repository_key, cancel| {
            let stays = wanted.contains(repository_key);
            if !stays {
                cancel.cancel();
            }
            stays
        });
        let most = app.config.freshness.repositories_max;
        let mut left_out = 0;
        for repository_key in wanted {
            if self.followed.contains_key(&repository_key) {
                continue;
            }
            match repository_key.checked_root(app) {
                // An archive is replaced as a whole: the schedule notices that.
                Ok(root) if !root.is_directory() => {}
                Ok(_) if self.followed.len() >= most => left_out += 1,
                Ok(root) => self.start(app, repository_key, root),
                Err(fault) => {
                    // Tried again at every update but logged once.
                    if self.refused.insert(repository_key) {
                        tracing::warn!("a repository is not watched: {}", fault.message);
                    }
                }
            }
        }
        if left_out > self.left_out {
            tracing::warn!(
                left_out,
                most,
                "more repositories than freshness.repositories_max; the rest is not watched"
            );
        }
        self.left_out = left_out;
    }

    fn start(&mut self, app: &Arc<App>, repository_key: RepositoryKey, root: RepositoryRoot) {
        self.refused.remove(&repository_key);
        let cancel = app.shutdown.child_token();
        self.followed.insert(repository_key.clone(), cancel.clone());
        let app = Arc::clone(app);
        self.tasks.spawn(async move {
            let name = root.as_str().to_owned();
            let followed = follow(
                &app,
                &root,
                &cancel,
                |event| log_event(&name, &event),
                || run_once(&app, &repository_key),
            )
            .await;
            if let Err(fault) = followed {
                tracing::warn!(repository = name, "no longer watched: {}", fault.message);
            }
            repository_key
        });
    }
}

async fn run_once(app: &Arc<App>, repository_key: &RepositoryKey) -> RunOutcome {
    match run_job(app, repository_key, None, &Options::default(), "watch").await {
        Ok(true) => RunOutcome::Joined,
        Ok(false) => RunOutcome::Done,
        Err(_) if app.shutdown.is_cancelled() => RunOutcome::Stop,
        Err(fault) => {
            tracing::warn!(repository = %repository_key.root.display(), project = repository_key.project.as_str(), code = %fault.code,
                "the index could not be refreshed: {}", fault.message);
            RunOutcome::from_error(fault.code, fault.retryable)
        }
    }
}

fn log_event(repository: &str, event: &WatchEvent) {
    match event {
        WatchEvent::Watching(directories) => tracing::debug!(repository, directories, "watched"),
        WatchEvent::Polling(why, every) => {
            tracing::warn!(repository, "scanned every {} s, because {why}", every.as_secs_f64());
        }
        WatchEvent::Gone(why, _) => {
            tracing::warn!(repository, "cannot be read, so its index is not refreshed: {why}")
        }
        WatchEvent::Back => tracing::info!(repository, "can be read again"),
    }
}
