//! The repositories that a server watches, which come and go with the settings and with what is indexed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::follow::{Ended, News, follow};
use super::{Kept, indexed, run};
use crate::app::App;
use crate::config::Watched;
use crate::contract::{Fault, ProjectId};

/// Watches until the process shuts down.
pub(super) async fn watch(app: &Arc<App>) {
    if matches!(&app.config.freshness.watch, Watched::These(none) if none.is_empty()) {
        return;
    }
    let mut followed: HashMap<Kept, CancellationToken> = HashMap::new();
    let mut tasks: JoinSet<Kept> = JoinSet::new();
    let mut refused = HashSet::new();
    while !app.shutdown.is_cancelled() {
        match wanted(app).await {
            Ok(wanted) => {
                followed.retain(|kept, cancel| {
                    let stays = wanted.contains(kept);
                    if !stays {
                        cancel.cancel();
                    }
                    stays
                });
                for kept in wanted {
                    begin(app, kept, &mut followed, &mut tasks, &mut refused);
                }
            }
            Err(fault) => tracing::warn!("which repositories to watch is not known: {}", fault.message),
        }
        tokio::select! {
            () = app.shutdown.cancelled() => {}
            Some(Ok(ended)) = tasks.join_next() => { followed.remove(&ended); }
            () = tokio::time::sleep(Duration::from_millis(app.config.freshness.refresh_ms.max(1))) => {}
        }
    }
    // Each gives its run back.
    while tasks.join_next().await.is_some() {}
}

/// What is to be watched now.
async fn wanted(app: &App) -> Result<Vec<Kept>, Fault> {
    let most = app.config.freshness.repositories_max;
    let mut wanted = match &app.config.freshness.watch {
        Watched::All(_) => indexed(app).await?,
        Watched::These(list) => {
            let kept = list.iter().map(|one| {
                let project = one
                    .project
                    .as_deref()
                    .map_or_else(|| Ok(ProjectId::default_workspace()), ProjectId::parse)?;
                // By the path that the index knows it under, where it exists.
                let root = one.path.canonicalize().unwrap_or_else(|_| one.path.clone());
                Ok(Kept { project, root })
            });
            kept.collect::<Result<_, Fault>>()?
        }
    };
    if wanted.len() > most {
        tracing::warn!(
            repositories = wanted.len(),
            most,
            "more repositories than freshness.repositories_max; the rest is not watched"
        );
        wanted.truncate(most);
    }
    Ok(wanted)
}

fn begin(
    app: &Arc<App>,
    kept: Kept,
    followed: &mut HashMap<Kept, CancellationToken>,
    tasks: &mut JoinSet<Kept>,
    refused: &mut HashSet<Kept>,
) {
    if followed.contains_key(&kept) {
        return;
    }
    let root = match kept.root(app) {
        Ok(root) => root,
        Err(fault) => {
            // Once: it is tried again at every look.
            if refused.insert(kept) {
                tracing::warn!("a repository is not watched: {}", fault.message);
            }
            return;
        }
    };
    refused.remove(&kept);
    let cancel = app.shutdown.child_token();
    followed.insert(kept.clone(), cancel.clone());
    let app = Arc::clone(app);
    tasks.spawn(async move {
        let name = root.as_str().to_owned();
        let followed = follow(&app, &root, &cancel, |news| log(&name, &news), || once(&app, &kept)).await;
        if let Err(fault) = followed {
            tracing::warn!(repository = name, "no longer watched: {}", fault.message);
        }
        kept
    });
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
