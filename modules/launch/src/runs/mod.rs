//! Launch runs in this program: the jobs that advance them, and the calls that read and write them.
//!
//! A run advances in jobs of the kind `launch`, one at a time, in a lane of its own. The next step of a job follows from the snapshot of
//! the run ([`launch::engine`]); each step is one transaction, so a process that dies costs at most the item that it worked on.

mod action;
mod answer;
mod check;
mod disk_paths;
mod evidence;
mod fixing;
mod folder_files;
mod forges;
mod index_version;
mod input_readiness;
mod inputs;
mod item;
mod item_inputs;
mod journal;
mod observing;
mod packing;
mod page_secrets;
mod pinned;
mod publish;
mod published;
mod quickstart;
mod repository;
mod request;
mod rows;
mod run_job;
mod run_metrics;
mod site;
mod site_commands;
mod site_copy;
mod site_head;
mod site_links;
mod site_rebase;
mod snippets;
mod start;
mod status;
mod sweep;
mod watch;
mod workers;

pub use action::{Action, AdvanceUntil};
pub use answer::JobAnswer;
pub use check::{CheckedSite, SiteCheck, check_site};
pub use forges::probe_forges;
pub use journal::run_not_found;
pub use quickstart::{DescribedRepository, fetched_repository, indexed_repository, repository_of_product};
pub use repository::RunRepository;
pub use request::{RunRequest, cancel, record_call, run_action};
pub use run_job::KIND;
pub use site_copy::copies_folder;
pub use start::{StartRequest, StartedRun, config_refused, start};
pub use status::{
    ArtifactPart, OpenedRun, artifact_part, events_after, has_ended, list, newest_events, open_issue_counts,
    open_run,
};
pub use sweep::{index_ended, sweep_runs};
pub use watch::{KIND as WATCH_KIND, RunFreshness, run_freshness, stale_counts};
pub use workers::{WORKERS, WorkerTable};
