//! Restarts the embedded server; the pools set it up, and each of their connection pools calls it.

use std::sync::{Arc, OnceLock};

use contract::Fault;
use futures::future::BoxFuture;
use sqlx::postgres::PgConnectOptions;
use tokio::sync::Mutex;

/// Restarts the embedded server if it is not running, and returns the options to connect to it.
pub type RestartCallback = Arc<dyn Fn() -> BoxFuture<'static, Result<PgConnectOptions, Fault>> + Send + Sync>;

/// Restarts the embedded server; shared by all pools.
#[derive(Default)]
pub(super) struct Restarter {
    pub(super) callback: OnceLock<RestartCallback>,
    /// Held during an attempt: callers that waited for it find the server running, and restart nothing.
    attempt: Mutex<()>,
}

impl Restarter {
    pub(super) fn is_set(&self) -> bool {
        self.callback.get().is_some()
    }

    /// Restarts the server and returns the options to connect to it; `None` for an external server.
    pub(super) async fn restart(&self) -> Result<Option<PgConnectOptions>, Fault> {
        let Some(callback) = self.callback.get() else { return Ok(None) };
        let _attempt = self.attempt.lock().await;
        callback().await.map(Some)
    }
}
