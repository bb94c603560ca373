//! Progress events of an installation.

use contract::{ErrorCode, Fault};

/// A progress event of one asset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AssetEvent {
    /// A new step began.
    Step {
        /// Id of the asset.
        asset: String,
        /// Name of the step for users: `downloading`, `unpacking` …
        what: &'static str,
    },
    /// The current step advanced.
    Progress {
        /// Id of the asset.
        asset: String,
        /// Processed bytes.
        done: u64,
        /// Total bytes, if known.
        total: Option<u64>,
    },
    /// The asset is installed.
    Done {
        /// Id of the asset.
        asset: String,
        /// True if it was installed before.
        cached: bool,
    },
}

/// Reports the steps of one asset.
#[derive(Clone, Copy)]
pub(super) struct AssetReporter<'a> {
    pub(super) asset: &'a str,
    pub(super) on_event: &'a (dyn Fn(AssetEvent) + Sync),
    /// Returns true to cancel the installation.
    pub(super) cancelled: &'a (dyn Fn() -> bool + Sync),
}

impl AssetReporter<'_> {
    /// Returns `CANCELLED` if the installation was cancelled.
    pub(super) fn check_cancelled(&self) -> Result<(), Fault> {
        if !(self.cancelled)() {
            return Ok(());
        }
        Err(Fault::new(ErrorCode::Cancelled, "The installation was cancelled; what was downloaded is kept.")
            .with_hint("Start it again to resume it."))
    }

    pub(super) fn step(&self, what: &'static str) {
        (self.on_event)(AssetEvent::Step { asset: self.asset.to_owned(), what });
    }

    pub(super) fn progress(&self, done: u64, total: Option<u64>) {
        (self.on_event)(AssetEvent::Progress { asset: self.asset.to_owned(), done, total });
    }

    pub(super) fn done(&self, cached: bool) {
        (self.on_event)(AssetEvent::Done { asset: self.asset.to_owned(), cached });
    }
}
