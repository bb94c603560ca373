//! Where Postgres comes from, and the narrow way everybody talks to it.
//!
//! Nothing outside this module and [`crate`] names the SQL client.

mod connect;
mod connection_pool;
pub mod embedded;
mod error;
mod guard;
mod migrate;
mod pools;
mod schema_name;
mod server;
mod vector_extension;

pub use connect::{Database, external, parse_url};
pub(crate) use error::{OrFault, is_damage, sqlstate};
pub use error::{is_full, is_passing, no_answer, retry_stale_plan};
pub use guard::{Query, Row, Tx, sql};
pub use migrate::{CONTROL, MODULES, Migration, Module, SEARCH, TRIAGE, newest, statements, tables_of};
pub use pools::{Pool, Revive};
pub use schema_name::SchemaName;
pub(crate) use schema_name::quoted;
pub use server::ServerFacts;
pub use vector_extension::{VectorExtension, VectorProbe};
