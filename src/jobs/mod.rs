//! The worker's side of the queue: hold a lease, say how far it is, stop when told, finish once.

mod lease;
mod progress;
mod run;

pub use lease::{ClaimedJob, LeaseSettings};
pub use progress::{Phase, Progress, ProgressSender};
pub use run::{Finished, RunningJob, enqueue, run_now, run_or_attach, work_once};

pub use crate::store::{Enqueued, Job, JobState, NewJob};
