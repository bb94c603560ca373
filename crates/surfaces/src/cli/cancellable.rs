//! Runs long work of a command, such as an export, with progress lines until Ctrl-C cancels it.

use tokio_util::sync::CancellationToken;

use super::progress_bar::CallProgressBar;
use super::session::{Session, StopSignal};
use contract::Fault;

/// Runs an export or import with progress lines. Ctrl-C cancels it, and the operation undoes what it wrote.
///
/// # Errors
/// The fault of the work.
pub async fn cancellable<T>(
    session: &Session,
    work: impl AsyncFnOnce(&CancellationToken, &(dyn Fn(&str) + Sync)) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let (cancel, bar, mut stop) =
        (CancellationToken::new(), CallProgressBar::new(session.output), StopSignal::install());
    let on_table = |table: &str| bar.step(table);
    let mut done = std::pin::pin!(work(&cancel, &on_table));
    let ended = tokio::select! {
        ended = &mut done => ended,
        () = stop.received() => {
            cancel.cancel();
            done.await
        }
    };
    bar.finish();
    ended
}
