//! Events of an operation that answers as a stream, because its answer may be too large to be held in memory.
//!
//! An event is sent when the client has room for it, so a slow client slows the operation down.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use contract::{ErrorCode, Fault, escape_invisible};

/// Takes an event. The future completes when there is room for the next one; false if the client has gone.
type TakeEvent = dyn Fn(&'static str, Value) -> BoxFuture<'static, bool> + Send + Sync;

/// Receives the events of a call; drops them if the surface does not stream the answer.
#[derive(Clone, Default)]
pub struct EventSink {
    take: Option<Arc<TakeEvent>>,
    has_invisible: Arc<AtomicBool>,
}

impl EventSink {
    /// Passes every event, its name and its content, to `take`.
    pub fn to(
        take: impl Fn(&'static str, Value) -> BoxFuture<'static, bool> + Send + Sync + 'static,
    ) -> Self {
        Self { take: Some(Arc::new(take)), has_invisible: Arc::default() }
    }

    /// Returns `true` if an event contained invisible characters, which were escaped.
    pub(super) fn had_invisible(&self) -> bool {
        self.has_invisible.load(Ordering::Relaxed)
    }

    /// Sends an event, and waits until the client has room for more.
    ///
    /// # Errors
    /// `CANCELLED` if the client has gone, or `cancel` fires.
    pub(super) async fn send(
        &self,
        cancel: &CancellationToken,
        name: &'static str,
        content: &impl Serialize,
    ) -> Result<(), Fault> {
        let Some(take) = &self.take else { return Ok(()) };
        let mut content = serde_json::to_value(content)
            .map_err(|error| Fault::internal("An event could not be serialized.", error))?;
        // As the gate does with results.
        if escape_invisible(&mut content) {
            self.has_invisible.store(true, Ordering::Relaxed);
        }
        let is_taken = tokio::select! {
            biased;
            () = cancel.cancelled() => false,
            is_taken = take(name, content) => is_taken,
        };
        if is_taken {
            return Ok(());
        }
        Err(Fault::new(ErrorCode::Cancelled, "The stream ended before everything was sent."))
    }
}
