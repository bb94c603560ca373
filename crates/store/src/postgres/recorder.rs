//! Records statements and their source locations, for the test that prepares all of them, and counts them, for benchmarks.

use std::cell::RefCell;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

/// A statement created by [`super::sql`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Statement {
    /// The file that calls [`super::sql`], relative to the workspace's root.
    pub file: &'static str,
    /// The line of that call, 1-based.
    pub line: u32,
    /// The SQL.
    pub text: String,
}

tokio::task_local! {
    static RECORDED: RefCell<Vec<Statement>>;
}

/// Statements that this process created with [`super::sql`] so far.
static CREATED: AtomicU64 = AtomicU64::new(0);

/// Number of statements that this process created so far, in all its tasks.
#[must_use]
pub fn created() -> u64 {
    CREATED.load(Ordering::Relaxed)
}

/// Runs `work` and returns its result with the statements that it created. Statements of tasks that it spawns are missing.
pub async fn record<T>(work: impl Future<Output = T>) -> (T, Vec<Statement>) {
    RECORDED
        .scope(RefCell::default(), async {
            let result = work.await;
            (result, RECORDED.with(RefCell::take))
        })
        .await
}

/// Counts a statement, and adds it to the recording of this task, if there is one.
pub(super) fn note(location: &'static Location<'static>, text: &str) {
    CREATED.fetch_add(1, Ordering::Relaxed);
    // Outside of `record` the closure does not run, so nothing is copied.
    let _ = RECORDED.try_with(|recorded| {
        let statement = Statement { file: location.file(), line: location.line(), text: text.to_owned() };
        recorded.borrow_mut().push(statement);
    });
}
