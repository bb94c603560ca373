//! Postgres: the embedded server, connection pools, migrations, and the transactions that run all SQL.
//!
//! Nothing outside this module and [`crate`] names the SQL client.

mod connect;
mod connection_pool;
pub mod embedded;
mod error;
mod guard;
mod indexed_text;
mod migrate;
mod pools;
#[cfg(feature = "fuzzing")]
pub mod recorder;
mod restarter;
mod schema_name;
mod server;
mod statement;
mod vector_extension;

pub use connect::{Database, external, parse_url};
pub(crate) use error::{OrFault, is_damage, sqlstate};
pub use error::{is_full, is_refused_value, is_transient, met_stale_plan, no_answer, retry_stale_plan};
pub use guard::{Row, Tx};
pub use indexed_text::INDEXED_TEXT_BYTES_MAX;
pub(crate) use indexed_text::{indexable, storable, storable_json};
pub use migrate::{INSTRUCTIONS, LAUNCH, MODULES, Migration, Module, TRIAGE};
pub(crate) use migrate::{SEARCH, newest, statements, tables_of};
pub use pools::Pool;
pub use restarter::RestartCallback;
pub use schema_name::SchemaName;
pub(crate) use schema_name::quoted;
pub use server::ServerFacts;
pub use statement::{Query, sql};
pub use vector_extension::{VectorExtension, VectorProbe};
