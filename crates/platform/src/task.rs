//! Blocking work, run off the threads of the async runtime.

use contract::Fault;

/// Runs `work` on a thread of the blocking pool and waits for it. Dropping the returned future does not stop the work.
///
/// # Errors
/// The work's own fault; `INTERNAL` if it panicked.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let span = tracing::Span::current();
    match tokio::task::spawn_blocking(move || span.in_scope(work)).await {
        Ok(result) => result,
        Err(error) => Err(Fault::internal("A background step failed unexpectedly.", error)),
    }
}
