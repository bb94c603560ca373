//! Blocking work, run off the threads of the async runtime.

use tokio::task::JoinHandle;

use contract::Fault;

/// Runs `work` on a thread of the blocking pool, within the current span.
pub fn spawn_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let span = tracing::Span::current();
    tokio::task::spawn_blocking(move || span.in_scope(work))
}

/// Runs `work` on a thread of the blocking pool and waits for it. Dropping the returned future does not stop the work.
///
/// # Errors
/// The work's own fault; `INTERNAL` if it panicked.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    match spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(Fault::internal("A background step failed unexpectedly.", error)),
    }
}
