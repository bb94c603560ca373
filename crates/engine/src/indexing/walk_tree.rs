//! Walks a tree of a run's repository beside other tasks.

use super::context::RunContext;
use super::file_tree::FileTree;
use super::walk::{self, WalkResult};
use contract::{ErrorCode, Fault};
use tenancy::AllowedRoots;

/// Walks a tree of the repository. A mirror that cannot be read completely is fetched anew by the next run.
pub(super) async fn walk_tree(run: &RunContext<'_>, tree: &FileTree) -> Result<WalkResult, Fault> {
    let walked = walk_blocking(run, tree.clone()).await;
    let is_damaged = match &walked {
        Ok(walked) => walked.is_damaged,
        Err(fault) => fault.code == ErrorCode::IllegalState,
    };
    if is_damaged {
        tree.distrust();
    }
    walked
}

async fn walk_blocking(run: &RunContext<'_>, tree: FileTree) -> Result<WalkResult, Fault> {
    let root = run.root.to_owned();
    let (settings, must_stop) = (run.config.indexing.clone(), run.stop_check());
    let allowed = AllowedRoots::for_project(&settings, run.project.id());
    let walk = move || walk::walk(&root, &tree, &allowed, &(&settings).into(), &must_stop);
    let walking = platform::task::spawn_blocking(walk);
    walking.await.map_err(|error| Fault::internal("The walk failed unexpectedly.", error))?
}
