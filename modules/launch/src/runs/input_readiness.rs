//! Checks that a run can begin: its repository has to be indexed at its commit.

use launch::event::Failure;

/// Readiness of the inputs of a run.
pub(super) enum Inputs {
    /// The repository is indexed at its commit.
    Ready,
    /// It will be.
    Pending,
    /// It will not be; the run fails.
    Failed(Failure),
}
