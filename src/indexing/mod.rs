//! Files to rows, in one direction: walk, plan, prepare (read, redact, chunk, weigh), write, embed.

mod others;
mod walk;

mod file;
mod secrets;

mod describe;
mod front_matter;

mod plan;
mod prepare;

mod risk;

mod history;

mod artifacts;
mod vectors;
mod write;

mod report;
mod run;

mod documents;

pub use documents::{Document, Documents, run_documents};
pub use file::{Kind, ReadLimits, Root, SkipReason};
pub use front_matter::pairs;
pub use report::{RestoredArtifacts, RunReport, SkippedFiles, SqliteFile};
pub use run::{Options, Run, require_files, run};
pub use secrets::redact;
