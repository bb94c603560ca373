//! All SQL of the program. There are two kinds of transaction: [`Store::control`] on the schema that all projects share, and
//! [`ProjectTx::begin`] on the schema of one project. [`portable`] files hold a project's index outside of Postgres; search
//! reads both through [`Reads`].
//!
//! Each table has a file. Statements are next to the functions that run them; they qualify names with
//! [`crate::postgres::SchemaName`], bind every value, and name their columns.

mod change_model;
mod control;
pub mod damage;
pub mod deletion;
mod entries;
mod gram_query;
mod import_checks;
mod normal;
pub mod portable;
pub mod postgres;
mod project;
mod provision;
mod reads;
mod single_flight;
mod transaction;
pub mod transfer;
mod workspace;

pub use crate::postgres::{INDEXED_TEXT_BYTES_MAX, is_full, is_transient, no_answer};
pub use change_model::change_model;
pub use control::api_keys::{self, KeyRow};
pub use control::audit::{self, AuditEntry};
pub use control::jobs::{
    self, Claim, Enqueued, Heartbeat, Job, JobState, NewJob, NextJob, Outcome, PassLimits, WRITER_LANE,
};
pub use control::mcp_sessions;
pub use control::modules;
pub use control::projects::{self, ProjectSummary};
pub use control::source_repositories::{self, SourceCounts, SourceRepository, SourceRepositoryRow};
pub use control::sources::{self, SourceRow, SyncEnd};
pub use control::writers::{self, WriterNote, WriterRow};
pub use entries::{EntriesWritten, EntryTable, write_entries};
pub use gram_query::{Gram, GramQuery, gram, grams_of};
pub use project::breakdown::{self, FactsMissing, LanguageCount};
pub use project::chunks::{self, Candidate, CandidateWords, ChunkDetails, ChunkRow, ChunkSpan, Completion};
pub use project::copies::{self, CandidateText, OtherPlaces, SearchedPlaces, TextPlace};
pub use project::definitions::{self, DefinitionRow};
pub use project::facets::{self, CountedValue};
pub use project::file_lists::{self, ListedFile};
pub use project::file_write::{ChunkWrite, CommentWrite, DefinitionWrite, FileWrite, WordsWrite};
pub use project::files::{self, FileRow, Totals};
pub use project::filter::{ChunkSelection, Counted, Filter, Test, listed, select_chunks};
pub use project::flows::{self, FlowWrite};
pub use project::grams::{self, ChunkText, FilePlace};
pub use project::graph::{self, GraphDefinition, GraphFile, GraphUse};
pub use project::history::{self, AttributedFile, AuthorsWrite, FileFacts, HistoryWrite, KnownHistory};
pub use project::hit_edges::{self, HitEdge};
pub use project::index_state::{self, Fence, IndexState};
pub use project::instructions;
pub use project::launch;
pub use project::lexical::{self, LexicalHit, LexicalQuery, LexicalSource};
pub use project::method_sets;
pub use project::names::{self, KnownNames, NamedFact, fact_id};
pub use project::navigation::{self, Coverage, DefinitionAt};
pub use project::overview::{self, IndexOverview};
pub use project::pages::{self, ProjectPart};
pub use project::repositories::{self, RepositoryRow, RepositoryState, Versions};
pub use project::revisions::{self, FileViews, REVISIONS_MAX, RevisionFile, RevisionRow};
pub use project::scip::{self, ScipDocumentWrite, ScipFile};
pub use project::several::{self, RepositoryQuery};
pub use project::sizes::{self, RowUsage, TableSize};
pub use project::statistics::{self, TermCount};
pub use project::suggestions;
pub use project::symbols::{self, InterfaceRow, SymbolsWrite, Unresolved};
pub use project::triage;
pub use project::use_places;
pub use project::uses::{self, Certainty, UsePlace, UseRow, UseTarget, UseWrite, UsedFor, Uses};
pub use project::vectors::{self, PendingText, VectorHit};
pub use project::write::{Written, write_batch, write_versions};
pub use provision::{has_module, is_outdated, provision, provision_module};
pub use reads::{Index, Reads};
pub use transaction::{Access, ControlTx, ProjectTx, Store};
pub use workspace::{DecidedBy, ModelFacts, Project};
