//! Work that blocks, moved off the threads that serve async tasks.

use contract::Fault;

/// Runs `work` on a thread of the blocking pool and waits for it. When the returned future is dropped, the work still runs to
/// its end.
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
