//! Leased claims decide which process syncs a source. The process renews its claim while it works; if it dies, another one takes over.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::SyncTime;
use crate::app::App;
use contract::Fault;
use contract::config::SourceSettings;
use store::{SyncEnd, sources};

/// Time after which another process may take over a source whose claim is not renewed.
const LEASE_MS: u64 = 60_000;
/// Time between renewals.
const RENEWAL: Duration = Duration::from_secs(15);

/// The claim of this process on a source.
pub(super) struct SourceClaim<'a> {
    app: &'a App,
    source: &'a str,
    /// Fires when the process shuts down, or another one has the source.
    pub(super) stop: CancellationToken,
}

impl<'a> SourceClaim<'a> {
    /// Claims a source; `None` if another process syncs it, or it is not due.
    ///
    /// # Errors
    /// Storage faults.
    pub(super) async fn take(
        app: &'a App,
        settings: &'a SourceSettings,
        time: SyncTime,
    ) -> Result<Option<Self>, Fault> {
        let every_ms = match time {
            SyncTime::WhenDue => Some(settings.every_ms),
            SyncTime::Now => None,
        };
        let mut control = app.store().await?.control().await?;
        let is_ours = sources::claim(&mut control, &settings.name, &app.worker, LEASE_MS, every_ms).await?;
        control.commit().await?;
        Ok(is_ours.then(|| Self { app, source: &settings.name, stop: app.shutdown.child_token() }))
    }

    /// Does the work and renews the claim meanwhile. If the claim is lost, `stop` fires.
    pub(super) async fn hold<T>(&self, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        tokio::select! {
            done = &mut work => return done,
            () = self.renew_until_lost() => {}
        }
        self.stop.cancel();
        work.await
    }

    /// Stores how the sync ended, and leaves the source to others.
    ///
    /// # Errors
    /// Storage faults.
    pub(super) async fn release(&self, end: SyncEnd<'_>) -> Result<(), Fault> {
        let mut control = self.app.store().await?.control().await?;
        sources::release(&mut control, self.source, &self.app.worker, end).await?;
        control.commit().await
    }

    async fn renew_until_lost(&self) {
        loop {
            tokio::time::sleep(RENEWAL).await;
            match self.renew().await {
                Ok(true) => {}
                Ok(false) => return,
                // Perhaps the next renewal succeeds. Else another process syncs as well, which does no harm: runs are joined.
                Err(fault) => tracing::debug!(source = self.source, "a claim was not renewed: {fault}"),
            }
        }
    }

    async fn renew(&self) -> Result<bool, Fault> {
        let mut control = self.app.store().await?.control().await?;
        let is_ours = sources::renew(&mut control, self.source, &self.app.worker, LEASE_MS).await?;
        control.commit().await?;
        Ok(is_ours)
    }
}
