//! The public contract: the envelope, the error codes and shared values; also the configuration and the clock.
//!
//! Nothing here depends on a transport or a database. Read `error.rs` first: a failed call is either a [`Refusal`] (it was not
//! run) or a [`Fault`] (it ran and failed).

pub mod clock;
pub mod config;

mod address;
mod archive_name;
mod coverage;
mod echo;
mod envelope;
mod error;
mod escape;
mod model;
mod project_id;
mod refusal;
mod unique_json;
mod version;

pub use address::RepositoryAddress;
pub use archive_name::has_archive_name;
pub use coverage::{COVERAGE_NAMES_MAX, Coverage, LeftOut, LeftOutFile, Occurrence, SearchedRepository};
pub use echo::{ECHO_CHARS_MAX, echo, echo_within, truncate_chars};
pub use envelope::{Envelope, ErrorBody, Meta, Next, SearchScope, Warning};
pub use error::{ErrorCode, ErrorInfo, Fault, error_table};
pub use escape::{escape_invisible, escaped, escaped_invisible, escaped_line, unescaped};
pub use model::ModelIdentity;
pub use project_id::{PROJECT_ID_CHARS_MAX, PROJECT_ID_PATTERN, ProjectId, ProjectIdError};
pub use refusal::{Refusal, Violation};
pub use unique_json::{JsonRejection, parse_unique};
pub use version::{SCHEMA_MAJOR, SCHEMA_VERSION, TOOLING_VERSION};
