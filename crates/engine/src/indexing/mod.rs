//! Files to rows, in one direction: walk, plan, prepare (read, redact, chunk, weigh), write, embed. [`Watch`] says
//! when there is something to do again.

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

mod others;
mod walk;

mod file;
mod secrets;

pub mod parser;

mod describe;
mod front_matter;
mod remarks;

mod plan;
mod prepare;

mod risk;

pub mod historian;
mod history;
mod ignored;

mod artifacts;
mod vectors;
mod versions;
mod write;

mod options;
mod report;
mod run;

mod folder;

mod documents;
mod watch;

pub use documents::{Document, Documents, run_documents};
pub use file::{Kind, ReadLimits, Root, SkipReason};
pub use folder::read_folder;
pub use front_matter::pairs;
pub use options::{Mode, Options};
pub use report::{RestoredArtifacts, RunReport, SkippedFiles, SqliteFile};
pub use run::{Run, embed, require_files, run};
pub use secrets::{REDACTION_VERSION, is_secret_value, redact, redact_file};
pub use vectors::{HEADER_SEPARATOR, passage};
pub use watch::{Changes, Look, Watch};
