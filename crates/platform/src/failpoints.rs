//! Named places at which the process can be made to die, as a power cut would: for tests, and in debug builds only.
//!
//! `PAIROFCLEATS_FAILPOINT=index.batch_written:2` ends the process when it comes to that place for the second time. Nothing is
//! cleaned up. Whoever adds a step that writes adds a place behind it; the tests go through all of them.
//!
//! `PAIROFCLEATS_LIE=open:3:client-b` makes a look-up of a project say something else on every third call: that the project is
//! `client-b`. What stands behind the look-up must notice.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use contract::config;

/// Every place, in the order in which the work comes to them.
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
    "triage.texts_written",
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

/// The place at which to die, and at which of the visits to it.
static WANTED: LazyLock<Option<(String, usize)>> = LazyLock::new(|| {
    let text = config::failpoint()?;
    let (name, count) = text.rsplit_once(':').unwrap_or((&text, "1"));
    Some((name.to_owned(), count.parse().unwrap_or(1)))
});

/// Every look-up that can be made to lie: which project a call is about; which project has that id; whose role its
/// transactions run as.
pub const LIES: &[&str] = &["resolve", "open", "role"];

/// Which look-up lies, on every how many calls, and what it says.
static LIE: LazyLock<Option<(String, usize, String)>> = LazyLock::new(|| {
    let text = config::lie()?;
    let mut parts = text.splitn(3, ':');
    Some((parts.next()?.to_owned(), parts.next()?.parse().ok()?, parts.next()?.to_owned()))
});

/// What the look-up `name` says instead of the truth, if it lies this time. In release builds none does.
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

/// Comes to a place. In release builds this is nothing.
pub fn reach(name: &'static str) {
    if !cfg!(debug_assertions) {
        return;
    }
    debug_assert!(ALL.contains(&name), "{name} is not in the list of failpoints");
    static REACHED: AtomicUsize = AtomicUsize::new(0);
    if let Some((wanted, count)) = WANTED.as_ref()
        && wanted == name
        && REACHED.fetch_add(1, Ordering::Relaxed) + 1 == *count
    {
        std::process::abort();
    }
}
