//! Refreshes repositories whose host reports a push.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use super::{RepositoryKey, indexed_repositories, run_anew};
use crate::app::App;
use contract::{Fault, RepositoryAddress};
use engine::indexing::Options;

/// The repositories that are being refreshed because of pushes, and whether another push came meanwhile. So any number of
/// pushes keeps at most one task for each repository.
#[derive(Default)]
pub(super) struct Pushes(Mutex<HashMap<RepositoryKey, bool>>);

impl Pushes {
    /// Notes a push; returns whether a task has to be started for it.
    fn request(&self, key: &RepositoryKey) -> bool {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(key.clone()) {
            Entry::Occupied(mut running) => {
                running.insert(true);
                false
            }
            Entry::Vacant(idle) => {
                idle.insert(false);
                true
            }
        }
    }

    /// Ends the task, unless another push came; then it has to run again.
    fn finish(&self, key: &RepositoryKey) -> bool {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match running.get_mut(key) {
            Some(again @ true) => {
                *again = false;
                false
            }
            _ => {
                running.remove(key);
                true
            }
        }
    }
}

/// Refreshes the indexed repositories with one of these addresses, in the background.
pub fn refresh_pushed(app: &Arc<App>, addresses: Vec<RepositoryAddress>) {
    if addresses.is_empty() {
        return;
    }
    let app = Arc::clone(app);
    app.background.clone().spawn(async move {
        match pushed_repositories(&app, &addresses).await {
            Ok(pushed) => pushed.into_iter().for_each(|key| start(&app, key)),
            Err(fault) => tracing::warn!("a push was not followed: {}", fault.message),
        }
    });
}

/// The indexed repositories with one of these addresses. A push also concerns those that are indexed of its folders.
async fn pushed_repositories(
    app: &App,
    addresses: &[RepositoryAddress],
) -> Result<Vec<RepositoryKey>, Fault> {
    let mut pushed = indexed_repositories(app).await?;
    pushed.retain(|key| {
        let address = key.root.to_str().and_then(RepositoryAddress::parse).and_then(Result::ok);
        address.is_some_and(|address| addresses.contains(&address.repository()))
    });
    Ok(pushed)
}

/// Starts the task that refreshes a repository, unless it has one.
fn start(app: &Arc<App>, key: RepositoryKey) {
    if !app.freshness.pushes.request(&key) {
        return;
    }
    let app = Arc::clone(app);
    app.background.clone().spawn(async move {
        while !app.shutdown.is_cancelled() {
            refresh(&app, &key).await;
            if app.freshness.pushes.finish(&key) {
                break;
            }
        }
    });
}

async fn refresh(app: &Arc<App>, key: &RepositoryKey) {
    if let Err(fault) = run_anew(app, key, &Options::default(), "push").await {
        tracing::warn!(repository = %key.root.display(), project = key.project.as_str(), code = %fault.code,
            "the index could not be refreshed after a push: {}", fault.message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::ProjectId;

    #[test]
    fn pushes_during_a_refresh_cause_one_more() {
        let pushes = Pushes::default();
        let key = RepositoryKey { project: ProjectId::default_workspace(), root: "https://host/x".into() };
        assert!(pushes.request(&key), "the first push starts a task");
        assert!(!pushes.request(&key) && !pushes.request(&key));
        assert!(!pushes.finish(&key), "it runs again, once for both");
        assert!(pushes.finish(&key));
        assert!(pushes.request(&key), "the next push starts another task");
    }
}
