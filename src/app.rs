//! What is built once and shared by every surface.
//!
//! Building an [`App`] touches nothing: the database and the model are reached on first use, so a
//! client sees a server at once, a failure is the answer of the call that needed the missing part,
//! and the next call tries again.

mod queue;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::config::{Config, Layout};
use crate::contract::Fault;

pub use queue::{Admission, Bulkhead, Queues};

/// The application.
pub struct App {
    /// What the operator chose.
    pub config: Config,
    /// Where files live.
    pub layout: Layout,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Admission of calls.
    pub queues: Queues,
    /// When this process began to serve.
    pub started: Instant,
    /// Fires when the process shuts down: running jobs go back to the queue.
    pub shutdown: CancellationToken,
    /// Names this process in job leases.
    pub worker: String,
    /// The `pairofcleats` executable.
    pub program: PathBuf,
}

impl App {
    /// An application over `config`; `program` is the `pairofcleats` executable, which the embedded
    /// Postgres needs for its supervisor.
    #[must_use]
    pub fn new(config: Config, layout: Layout, clock: Arc<dyn Clock>, program: PathBuf) -> Self {
        Self {
            queues: Queues::new(&config.queue),
            started: clock.instant(),
            shutdown: CancellationToken::new(),
            worker: format!("{}-{}", std::process::id(), clock.now().as_nanosecond()),
            program,
            config,
            layout,
            clock,
        }
    }
}

/// Runs blocking work off the async threads.
///
/// # Errors
/// The work's own fault; `INTERNAL` if it panicked.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(Fault::internal("A background step failed unexpectedly.", error)),
    }
}
