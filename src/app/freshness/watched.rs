//! The repositories that a server watches, which come and go with the settings and with what is indexed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::follow::{Ended, News, follow};
use super::{Kept, indexed, run};
use crate::app::App;
use contract::config::Watched;
use contract::{Fault, ProjectId};
use tenancy::RepositoryRoot;

/// Watches until the process shuts down.
pub(super) async fn watch(app: &Arc<App>) {
    if matches!(&app.config.freshness.watch, Watched::These(none) if none.is_empty()) {
        return;
    }
    let mut watches = Watches::default();
    while !app.shutdown.is_cancelled() {
        match wanted(app).await {
            Ok(wanted) => watches.become_these(app, wanted),
            Err(fault) => tracing::warn!("which repositories to watch is not known: {}", fault.message),
        }
        tokio::select! {
            () = app.shutdown.cancelled() => {}
            Some(Ok(ended)) = watches.tasks.join_next() => { watches.followed.remove(&ended); }
            () = tokio::time::sleep(Duration::from_millis(app.config.freshness.refresh_ms.max(1))) => {}
        }
    }
    // Each gives its run back.
    while watches.tasks.join_next().await.is_some() {}
}

/// What is to be watched now.
async fn wanted(app: &App) -> Result<Vec<Kept>, Fault> {
    let list = match &app.config.freshness.watch {
        Watched::All(_) => return indexed(app).await,
        Watched::These(list) => list,
    };
    let kept = list.iter().map(|one| {
        let project =
            one.project.as_deref().map_or_else(|| Ok(ProjectId::default_workspace()), ProjectId::parse)?;
        // By the path that the index knows it under, where it exists.
        let root = one.path.canonicalize().unwrap_or_else(|_| one.path.clone());
        Ok(Kept { project, root })
    });
    kept.collect()
}

/// The repositories that are watched now.
#[derive(Default)]
struct Watches {
    followed: HashMap<Kept, CancellationToken>,
    tasks: JoinSet<Kept>,
    /// Those that cannot be watched, so that each is told once.
    refused: HashSet<Kept>,
    /// How many were beyond the limit when that was last told.
    left_out: usize,
}

impl Watches {
    /// Watches `wanted`, at most `freshness.repositories_max` of them; those that are watched already come first.
    /// A repository that cannot be watched takes no place.
    fn become_these(&mut self, app: &Arc<App>, wanted: Vec<Kept>) {
        self.followed.retain(|kept, cancel| {
            let stays = wanted.contains(kept);
            if !stays {
                cancel.cancel();
            }
            stays
        });
        let most = app.config.freshness.repositories_max;
        let mut left_out = 0;
        for kept in wanted {
            if self.followed.contains_key(&kept) {
                continue;
            }
            match kept.root(app) {
                Ok(_) if self.followed.len() >= most => left_out += 1,
                Ok(root) => self.begin(app, kept, root),
                Err(fault) => {
                    // Tried again at every look, told once.
                    if self.refused.insert(kept) {
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

    fn begin(&mut self, app: &Arc<App>, kept: Kept, root: RepositoryRoot) {
        self.refused.remove(&kept);
        let cancel = app.shutdown.child_token();
        self.followed.insert(kept.clone(), cancel.clone());
        let app = Arc::clone(app);
        self.tasks.spawn(async move {
            let name = root.as_str().to_owned();
            let followed = follow(&app, &root, &cancel, |news| log(&name, &news), || once(&app, &kept)).await;
            if let Err(fault) = followed {
                tracing::warn!(repository = name, "no longer watched: {}", fault.message);
            }
            kept
        });
    }
}

async fn once(app: &Arc<App>, kept: &Kept) -> Ended {
    match run(app, kept, None, "watch").await {
        Ok(true) => Ended::Joined,
        Ok(false) => Ended::Done,
        Err(_) if app.shutdown.is_cancelled() => Ended::Stop,
        Err(fault) => {
            tracing::warn!(repository = %kept.root.display(), project = kept.project.as_str(), code = %fault.code,
                "the index could not be refreshed: {}", fault.message);
            Ended::of(fault.code, fault.retryable)
        }
    }
}

fn log(repository: &str, news: &News) {
    match news {
        News::Watching(directories) => tracing::debug!(repository, directories, "watched"),
        News::Polling(why, every) => {
            tracing::warn!(repository, "looked at every {} s, because {why}", every.as_secs_f64());
        }
        News::Gone(why, _) => {
            tracing::warn!(repository, "cannot be read, so its index stays as it is: {why}")
        }
        News::Back => tracing::info!(repository, "is back"),
    }
}
