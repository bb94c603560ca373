//! Distinguishes the repositories that a project lists from the hidden ones of revisions.

use crate::transaction::ProjectTx;

/// The condition that a file `f` is of a listed repository, and not of a hidden one of revisions.
pub(super) fn is_listed(tx: &ProjectTx) -> String {
    format!(
        "f.repository_id NOT IN (SELECT id FROM {} WHERE revisions_of IS NOT NULL)",
        tx.table("repositories")
    )
}
