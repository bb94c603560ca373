//! The inputs of an item, as one hash: an item that was finished with the same inputs is not done again.

use launch::snapshot::{ItemState, RunSnapshot};
use launch::worker::{SiteView, Worker};
use platform::sha256;
use serde_json::{Value, json};
use store::{Project, RepositoryRow};

/// Digits of each half of a hash.
const HALF: usize = 32;

/// The inputs that must be unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unchanged {
    /// Those that the run is pinned to, and its own output. An index that moves does not make its items due again: they read only the
    /// content of the pinned commit.
    Pinned,
    /// Also the index, because another look at it was requested.
    PinnedAndIndex,
}

/// The hash of everything that the result of an item depends on, hexadecimal: the first half covers the content that is pinned or made by
/// the run, the second half the index at that time.
pub(super) fn inputs_hash(
    worker: &Worker,
    scope_key: &str,
    snapshot: &RunSnapshot,
    project: &Project,
    index: Option<&RepositoryRow>,
) -> String {
    let artifacts: Vec<(&str, &str)> = snapshot
        .artifacts
        .iter()
        .filter(|(name, _)| worker.reads(name))
        .map(|(name, artifact)| (name.as_str(), artifact.sha256.as_str()))
        .collect();
    let site_tree = snapshot.site_tree.as_deref().filter(|_| worker.site == SiteView::Patched);
    let pinned = json!([
        worker.name,
        worker.version,
        scope_key,
        snapshot.created.config_hash,
        snapshot.created.repo_sha,
        snapshot.created.site_sha,
        site_tree,
        sha256::to_hex(&project.model().hash),
        artifacts,
    ]);
    let index = json!(index.map(|row| (&row.commit, row.generation, row.state.as_str())));
    half(&pinned) + &half(&index)
}

fn half(inputs: &Value) -> String {
    let mut digits = sha256::digest_hex(inputs.to_string().as_bytes());
    digits.truncate(HALF);
    digits
}

/// Returns `true` if the last attempt at an item was finished with these inputs.
pub(super) fn was_finished_with(
    snapshot: &RunSnapshot,
    worker: &Worker,
    scope_key: &str,
    inputs_hash: &str,
    unchanged: Unchanged,
) -> bool {
    let is_same = |known: &str| match unchanged {
        Unchanged::Pinned => known.get(..HALF).is_some_and(|half| inputs_hash.starts_with(half)),
        Unchanged::PinnedAndIndex => known == inputs_hash,
    };
    let last = snapshot.latest(worker.name, scope_key);
    last.is_some_and(|(_, item)| item.state == ItemState::Finished && is_same(&item.inputs_hash))
}
