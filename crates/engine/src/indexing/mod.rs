//! Indexing in stages: walk, plan, prepare (read, extract, redact, chunk, extract facts, weigh terms), write, resolve names, read the
//! history, embed. [`RepositoryWatch`] detects when a repository has to be indexed again.

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

mod file_tree;
mod skipped_directories;
mod tracked;
mod walk;
mod walk_tree;

mod extracted;
mod file;
mod file_list;
mod secrets;
mod unmarked_utf16;

pub mod extractor;
pub mod parser;

mod describe;
mod front_matter;
mod meaningful_comments;

mod plan;
mod prepare;

mod risk;
mod symbols;

pub mod historian;
mod history;
mod ignored;
mod stored_lines;

mod artifacts;
mod indexed_commit;
mod interfaces;
mod navigation;
mod revisions;
mod scip;
mod scip_uses;
mod tags;
mod uses;
mod vectors;
mod versions;
mod write;

mod context;
mod failures;
mod opened_repository;
mod options;
mod report;
mod run;

mod folder;

mod document;
mod documents;
mod watch;

pub use self::documents::{Documents, RecordSource, run_documents};
pub use context::RunContext;
pub use document::Document;
pub use failures::record_unfetched;
pub use file::{ContentKind, OpenRoot, ReadLimits, SkipReason};
pub use file_list::{FileList, list_files};
pub use file_tree::FileTree;
pub use folder::read_folder;
pub use front_matter::metadata_pairs;
pub use indexed_commit::{IndexedCommit, differing_from_commit, indexed_commit};
pub use interfaces::Interfaces;
pub(crate) use interfaces::read_interface;
pub use options::{Mode, Options};
pub use report::{
    ArtifactRelation, IndexedRevision, NavigationReport, RestoredArtifacts, RevisionsReport, RunReport,
    SkippedFiles, SqliteFile, UsedArtifact,
};
pub use run::{embed_project, index_repository, require_files};
pub use scip::{ScipReport, check_scip_file};
pub use secrets::{REDACTION_VERSION, is_secret_value, redact, redact_extracted, redact_file};
pub use stored_lines::{StoredLines, read_lines};
pub(crate) use symbols::read_body;
pub use tags::tagged_commit;
pub(crate) use unmarked_utf16::{ByteOrder, unmarked_utf16};
pub use vectors::{HEADER_SEPARATOR, passage};
pub use watch::{Changes, RepositoryWatch, TreeScan};
