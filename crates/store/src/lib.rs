//! All SQL. Two doors: [`Store::control`] to what is kept once, [`ProjectTx::begin`] to a project's data; and [`portable`]
//! files, which hold the same outside of Postgres. Search reads either through [`Reads`].
//!
//! A file a table; statements stand beside the functions that run them, each one schema-qualified through
//! [`crate::postgres::SchemaName`], every value bound, no `SELECT *`.

mod arrived;
mod control;
pub mod damage;
pub mod deletion;
mod door;
pub mod portable;
pub mod postgres;
mod project;
mod provision;
mod reads;
mod repin;
mod single_flight;
pub mod transfer;
mod workspace;

pub use crate::postgres::{is_full, is_passing, no_answer};
pub use control::api_keys::{self, KeyRow};
pub use control::audit::{self, AuditEntry};
pub use control::jobs::{self, Claim, Enqueued, Heartbeat, Job, JobState, NewJob, Outcome};
pub use control::mcp_sessions;
pub use control::modules;
pub use control::projects::{self, ProjectSummary};
pub use door::{Access, ControlTx, ProjectTx, Store};
pub use project::breakdown::{self, FactsMissing, LanguageCount};
pub use project::chunks::{self, Candidate, ChunkRow, ChunkSpan, Completion, Shown};
pub use project::definitions::{self, DefinitionRow};
pub use project::files::{self, FileRow, ListedFile, Totals};
pub use project::filter::{Counted, Filter, Test, Within, listed, within};
pub use project::flows::{self, FlowWrite};
pub use project::history::{self, AuthorsWrite, FileFacts, HistoryWrite, KnownHistory};
pub use project::index_state::{self, Fence, IndexState};
pub use project::lexical::{self, LexicalHit, LexicalQuery, Words};
pub use project::names::{self, KnownNames, NamedFact, fact_id};
pub use project::opening::{self, Opening};
pub use project::pages::{self, Part};
pub use project::repositories::{self, RepositoryRow, RepositoryState, Versions};
pub use project::sizes::{self, Measured, TableSize};
pub use project::triage;
pub use project::vectors::{self, PendingText, VectorHit};
pub use project::write::{
    ChunkWrite, CommentWrite, DefinitionWrite, FileWrite, WordsWrite, Written, write_batch,
};
pub use provision::{has_module, is_outdated, provision, provision_module};
pub use reads::{Index, Reads};
pub use repin::repin;
pub use workspace::{DecidedBy, ModelFacts, Project};
