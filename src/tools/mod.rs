//! What clients can do: one list, from which schemas, routes, documents and tests are derived.
//!
//! A tool is one entry of [`LIST`] and one file; [`call()`] is the only way to run one. To add a tool:
//! write `tools/<family>/<tool>.rs` like its neighbours, add it to the list, refresh `contracts/`.
//! [`browse`] holds the operations that are reached otherwise than by a tool's name.

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;

mod list;
mod project_id_arg;
mod spec;

mod call;
mod context;
mod long_texts;
mod next;
pub mod published;
mod repository;
pub mod schema;
mod standing;
mod unindexed;
mod view;
mod violation;

mod admin;
mod artifacts;
pub mod browse;
mod index;
mod search;
mod status;
mod triage;

pub use call::{Request, call};
pub use context::{Call, Caller, Progress, ProgressUpdate, Surface};
pub use list::{LIST, Toolbox, find};
pub use spec::{Effects, TimeoutClass, ToolSpec, Toolset};
pub use view::{EVERY_TOOLSET, View};
