//! Failpoints: named places where tests abort the process without cleanup, as a power cut would. Debug builds only.
//!
//! `PAIROFCLEATS_FAILPOINT=index.batch_written:2` aborts the process when it reaches the failpoint for the second time. A new
//! step that writes needs a failpoint after it; the tests abort at each of them.
//!
//! `PAIROFCLEATS_WRONG_LOOKUP=open:3:client-b` makes every third lookup of the kind `open` return the wrong project, `client-b`.
//! The code that uses the lookup must detect this.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use contract::config;

/// All failpoints, in the order in which the work reaches them.
pub const ALL: &[&str] = &[
    "provision.schema_made", "provision.tables_made", "provision.committed", "index.opened", "index.walked",
    "index.batch_written", "index.files_written", "index.removed", "index.statistics_made",
    "index.words_ready", "index.flows_joined", "index.scip_taken", "index.navigation_batch",
    "index.navigation_resolved", "index.history_of_files", "index.history_of_lines",
    "index.revisions_written", "index.revisions_published", "index.page_embedded", "index.vectors_indexed",
    "index.closing", "index.closed", "model.emptied", "model.committed", "triage.stored",
    "catalog.batch_written", "catalog.before_commit", "records.texts_written", "clean.rows_removed",
    "clean.vectors_removed", "sqlite.written", "export.written", "import.table_taken", "import.settled",
    "delete.hidden", "delete.files_removed", "delete.rows_removed", "launch.created", "launch.claimed",
    "launch.before_write", "launch.before_commit", "launch.committed", "launch.objects_written",
    "launch.branch_created", "launch.forge_objects", "launch.forge_commit", "launch.forge_branch",
    "launch.forge_pull",
];

/// The failpoint that aborts, and the visit on which it does.
static ABORT_AT: LazyLock<Option<(String, usize)>> = LazyLock::new(|| {
    let text = config::failpoint()?;
    let (name, count) = text.rsplit_once(':').unwrap_or((&text, "1"));
    Some((name.to_owned(), count.parse().unwrap_or(1)))
});

/// The lookups that can return the wrong project: `resolve`, the project of a call; `open`, a project by its id; `role`, the
/// database role of its transactions.
pub const LOOKUPS: &[&str] = &["resolve", "open", "role"];

/// The lookup that returns the wrong project, the interval in calls, and that project.
static WRONG_LOOKUP: LazyLock<Option<(String, usize, String)>> = LazyLock::new(|| {
    let text = config::wrong_lookup()?;
    let mut parts = text.splitn(3, ':');
    Some((parts.next()?.to_owned(), parts.next()?.parse().ok()?, parts.next()?.to_owned()))
});

/// Returns the wrong project that this call of the lookup `name` must return; `None` in release builds.
#[must_use]
pub fn wrong_lookup(name: &'static str) -> Option<&'static str> {
    if !cfg!(debug_assertions) {
        return None;
    }
    debug_assert!(LOOKUPS.contains(&name), "{name} is not in LOOKUPS");
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let (lookup, interval, project) = WRONG_LOOKUP.as_ref()?;
    let is_due =
        lookup == name && (CALLS.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of((*interval).max(1));
    is_due.then_some(project.as_str())
}

/// Marks a failpoint: aborts the process here if the environment selects it. Does nothing in release builds.
pub fn reach(name: &'static str) {
    if !cfg!(debug_assertions) {
        return;
    }
    debug_assert!(ALL.contains(&name), "{name} is not in ALL");
    static VISITS: AtomicUsize = AtomicUsize::new(0);
    if let Some((failpoint, visit)) = ABORT_AT.as_ref()
        && failpoint == name
        && VISITS.fetch_add(1, Ordering::Relaxed) + 1 == *visit
    {
        std::process::abort();
    }
}
