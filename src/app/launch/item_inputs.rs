//! What an item depends on, as one hash: an item that was finished with the same inputs is not done again.

use launch::snapshot::{ItemState, Snapshot};
use launch::worker::{SiteView, Worker};
use platform::sha256;
use serde_json::{Value, json};
use store::{Project, RepositoryRow};

/// The hash of everything that the result of an item depends on, hexadecimal.
pub(super) fn inputs_hash(
    worker: &Worker,
    scope_key: &str,
    snapshot: &Snapshot,
    index: Option<(&Project, &RepositoryRow)>,
) -> String {
    let artifacts: Vec<(&str, &str)> = snapshot
        .artifacts
        .iter()
        .filter(|(name, _)| worker.reads(name))
        .map(|(name, artifact)| (name.as_str(), artifact.sha256.as_str()))
        .collect();
    let site_tree = snapshot.site_tree.as_deref().filter(|_| worker.site == SiteView::Patched);
    let index = index.map(|(project, repository)| {
        json!([sha256::to_hex(&project.model().hash), repository.commit, repository.generation])
    });
    let inputs: Value = json!([
        worker.name,
        worker.version,
        scope_key,
        snapshot.created.config_hash,
        snapshot.created.repo_sha,
        snapshot.created.site_sha,
        site_tree,
        index,
        artifacts,
    ]);
    sha256::digest_hex(inputs.to_string().as_bytes())
}

/// Whether the last attempt at an item was finished with these inputs.
pub(super) fn was_finished_with(
    snapshot: &Snapshot,
    worker: &Worker,
    scope_key: &str,
    inputs_hash: &str,
) -> bool {
    let last = snapshot.latest(worker.name, scope_key);
    last.is_some_and(|(_, item)| item.state == ItemState::Finished && item.inputs_hash == inputs_hash)
}
