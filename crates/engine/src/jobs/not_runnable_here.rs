//! Jobs that this process cannot run but another one may, for example because only that one can access the folder.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use contract::Fault;
use store::PassLimits;

/// Time before a process claims such a job again: after the first failure, and at most.
const RETRY_AFTER: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(600));
/// The job fails if no process could run it for this long.
const FAIL_AFTER: Duration = Duration::from_secs(24 * 3600);

/// Returns [`RETRY_AFTER`] and [`FAIL_AFTER`] in milliseconds.
pub(super) fn limits() -> PassLimits {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    PassLimits {
        retry_ms_min: millis(RETRY_AFTER.0),
        retry_ms_max: millis(RETRY_AFTER.1),
        give_up_ms: millis(FAIL_AFTER),
    }
}

/// Marks the fault of a job that another process may be able to run: the job is returned to the queue instead of failing.
/// `note` is the reason in the job's status; everyone who may search the project can read it, so it must not contain paths.
#[must_use]
pub fn not_runnable_here(fault: Fault, note: &'static str) -> Fault {
    fault.with_source(NotRunnableHere(note))
}

/// Returns the note of a fault that [`not_runnable_here`] marked.
pub(super) fn note_of(fault: &Fault) -> Option<&'static str> {
    let marked = fault.source.as_ref()?.downcast_ref::<NotRunnableHere>();
    marked.map(|marked| marked.0)
}

#[derive(Debug)]
struct NotRunnableHere(&'static str);

impl fmt::Display for NotRunnableHere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for NotRunnableHere {}
