//! The worker's side of the queue: hold a lease, say how far it is, stop when told, finish once.

mod attempt;
mod lease;
mod progress;
mod queued;
mod run;

pub use lease::{ClaimedJob, LeaseSettings};
pub use progress::{Phase, Progress, ProgressSender, WaitsFor};
pub use queued::{folder_name, waiting, waits_for};
pub use run::{
    Finished, RunningJob, Until, WhenStopped, enqueue, enqueue_if_due, run_now, run_or_attach, see_through,
    work_once,
};

pub use store::{Enqueued, Job, JobState, NewJob};
