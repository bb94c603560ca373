//! The public contract: the envelope, the error codes, and the values that all surfaces share; and the configuration.
//!
//! Nothing here depends on a transport or a database. Read `error.rs` first: every failure is either a [`Refusal`] (the call was
//! not run) or a [`Fault`] (it ran and failed).

pub mod clock;
pub mod config;

mod echo;
mod envelope;
mod error;
mod model;
mod project_id;
mod refusal;
mod version;
mod visible;

pub use echo::{ECHO_CHARS_MAX, cut, echo, echo_within};
pub use envelope::{Envelope, ErrorBody, Meta, Next, SearchScope, Warning};
pub use error::{ErrorCode, ErrorInfo, Fault, error_table};
pub use model::ModelIdentity;
pub use project_id::{PROJECT_ID_CHARS_MAX, PROJECT_ID_PATTERN, ProjectId, ProjectIdError};
pub use refusal::{Refusal, Violation};
pub use version::{SCHEMA_MAJOR, SCHEMA_VERSION, TOOLING_VERSION};
pub use visible::{hidden_again, reveal, revealed, visible, visible_line};
