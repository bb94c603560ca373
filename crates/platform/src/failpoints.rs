//! Failpoints: named places at which tests abort the process, as a power cut would. Debug builds only.
//!
//! `PAIROFCLEATS_FAILPOINT=index.batch_written:2` aborts the process when it reaches that place for the second time, without any
//! cleanup. A new step that writes needs a failpoint behind it; the tests go through all of them.
//!
//! `PAIROFCLEATS_LIE=open:3:client-b` makes a project look-up return the wrong project, `client-b`, on every third call. The code
//! that uses the look-up must notice.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use contract::config;

/// All failpoints, in the order in which the work reaches them.
pub const ALL: &[&str] = &[
    "provision.schema_made",
    "provision.tables_made",
    "provision.committed",
    "index.opened",
    "index.walked",
    "index.batch_written",
    "index.files_written",
    "index.removed",
    "index.statistics_made",
    "index.words_ready",
    "index.flows_joined",
    "index.history_of_files",
    "index.history_of_lines",
    "index.page_embedded",
    "index.vectors_indexed",
    "index.closing",
    "index.closed",
    "model.emptied",
    "model.committed",
    "triage.stored",
    "records.texts_written",
    "clean.rows_removed",
    "clean.vectors_removed",
    "sqlite.written",
    "export.written",
    "import.table_taken",
    "import.settled",
    "delete.hidden",
    "delete.files_removed",
    "delete.rows_removed",
];

/// The failpoint that aborts, and on which of its visits.
static ABORT_AT: LazyLock<Option<(String, usize)>> = LazyLock::new(|| {
    let text = config::failpoint()?;
    let (name, count) = text.rsplit_once(':').unwrap_or((&text, "1"));
    Some((name.to_owned(), count.parse().unwrap_or(1)))
});

/// The look-ups that can return the wrong project: `resolve` the project of a call, `open` a project by id, and the `role` of its
/// transactions.
pub const LIES: &[&str] = &["resolve", "open", "role"];

/// The look-up that lies, on every how many calls, and the project that it returns.
static LIE: LazyLock<Option<(String, usize, String)>> = LazyLock::new(|| {
    let text = config::lie()?;
    let mut parts = text.splitn(3, ':');
    Some((parts.next()?.to_owned(), parts.next()?.parse().ok()?, parts.next()?.to_owned()))
});

/// The wrong project that the look-up `name` returns, if it lies this time. Never in release builds.
#[must_use]
pub fn lie(name: &'static str) -> Option<&'static str> {
    if !cfg!(debug_assertions) {
        return None;
    }
    debug_assert!(LIES.contains(&name), "{name} is not in the list of lies");
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let (wanted, each, said) = LIE.as_ref()?;
    let lies = wanted == name && (ASKED.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of((*each).max(1));
    lies.then_some(said.as_str())
}

/// Reaches a failpoint. Does nothing in release builds.
pub fn reach(name: &'static str) {
    if !cfg!(debug_assertions) {
        return;
    }
    debug_assert!(ALL.contains(&name), "{name} is not in the list of failpoints");
    static REACHED: AtomicUsize = AtomicUsize::new(0);
    if let Some((wanted, count)) = ABORT_AT.as_ref()
        && wanted == name
        && REACHED.fetch_add(1, Ordering::Relaxed) + 1 == *count
    {
        std::process::abort();
    }
}
