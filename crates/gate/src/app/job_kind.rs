//! A kind of job, with the function that executes its jobs.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;
use tokio::task::JoinSet;
use tracing::Instrument as _;

use super::App;
use contract::config::Config;
use contract::{ErrorCode, Fault, ProjectId};
use engine::jobs::{NewJob, RunningJob};

/// A kind of job.
pub struct JobKind {
    /// The name of the kind in the queue.
    pub name: &'static str,
    /// The lane of a job, from its subject. Of the jobs in one project and lane, one runs at a time.
    pub lane: fn(&str) -> String,
    /// The number of these jobs that a process executes at a time for one project. It can execute one more, so that another project's job
    /// need not wait for them.
    pub parallel: fn(&Config) -> usize,
    /// Executes a claimed job; `None` if only the call that requested it may.
    pub execute: Option<Execute>,
}

/// The function that executes a claimed job.
pub type Execute = fn(Arc<App>, RunningJob) -> BoxFuture<'static, Result<Value, Fault>>;

impl JobKind {
    /// A job of this kind.
    #[must_use]
    pub fn job(&self, project_id: ProjectId, subject: impl Into<String>, request: Value) -> NewJob {
        let subject = subject.into();
        NewJob { project_id, kind: self.name, lane: (self.lane)(&subject), subject, request }
    }
}

/// Executes a job as a task of its own: its futures are deep, and so begin on an empty stack. If the returned future is dropped, the task
/// ends at its next step, and its open transaction is rolled back.
pub fn as_own_task<F>(work: F) -> BoxFuture<'static, Result<Value, Fault>>
where
    F: Future<Output = Result<Value, Fault>> + Send + 'static,
{
    Box::pin(async move {
        let mut task = JoinSet::new();
        task.spawn(work.in_current_span());
        match task.join_next().await {
            Some(Ok(result)) => result,
            Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            _ => Err(Fault::new(ErrorCode::Cancelled, "The run was ended with this process.")),
        }
    })
}
