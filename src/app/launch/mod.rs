//! Launch runs in this program: jobs that advance them, and what calls read and write of them.
//!
//! A run advances in jobs of the kind `launch`, one at a time, in a lane of its own. What a job does next follows from the snapshot of
//! the run ([`launch::engine`]); each step is one transaction, so a process that dies costs at most the item that it worked on.

mod answer;
mod check;
mod disk_paths;
mod evidence;
mod fixing;
mod folder_files;
mod inputs;
mod item;
mod item_inputs;
mod journal;
mod packing;
mod page_secrets;
mod pinned;
mod publish;
mod repository;
mod request;
mod rows;
mod run_job;
mod site;
mod snippets;
mod start;
mod status;
mod sweep;
mod workers;

pub use answer::JobAnswer;
pub use check::{CheckedSite, SiteCheck, check_site};
pub(crate) use journal::run_not_found;
pub use request::{Action, AdvanceUntil, RunRequest, cancel, record_call, run_action};
pub use run_job::KIND;
pub use start::{StartRequest, StartedRun, config_refused, start};
pub use status::{ArtifactPart, OpenedRun, artifact_part, events_after, list, open_run, require_run};
pub use sweep::{index_ended, sweep_runs};
pub use workers::{WORKERS, WorkerTable};
