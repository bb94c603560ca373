//! The workers of the job queue: they claim a job, renew its lease, report its progress, and write its outcome.

mod attempt;
mod lease;
mod not_runnable_here;
mod progress;
mod queued;
mod run;

pub use lease::{ClaimedJob, LeaseSettings};
pub use not_runnable_here::not_runnable_here;
pub use progress::{Phase, Progress, ProgressSender, WaitsFor};
pub use queued::{describe_wait, folder_name, waits_for};
pub use run::{
    Choice, FinishedJob, OnCancel, RunControl, RunningJob, ServedProjects, enqueue, enqueue_if_due,
    fault_from_json, fault_to_json, run_next, run_now, run_to_completion,
};

pub use store::{Enqueued, Job, JobState, NewJob, WRITER_LANE};
