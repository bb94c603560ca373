//! The tools that clients call: one list, from which schemas, routes, documents and tests are derived.
//!
//! A tool is one entry of [`LIST`] and one file; [`call()`] is the only way to run one. To add a tool:
//! write `tools/<family>/<tool>.rs` like its neighbours, add it to the list, refresh `contracts/`.
//! [`browse`] contains the operations behind MCP prompts, resources and completion, which are not tools.

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

mod list;
mod project_id_arg;
mod spec;
mod toolset;

mod call;
mod context;
mod event_sink;
mod long_texts;
mod next;
pub mod published;
mod repository;
pub mod schema;
mod search_scope;
mod suggestion;
mod unindexed_directory;
mod violation;
mod visibility;

pub mod admin;
mod artifacts;
pub mod browse;
mod index;
mod instructions;
mod launch;
mod search;
mod status;
mod triage;

pub use call::{Request, call};
pub use context::{Call, Caller, Progress, ProgressUpdate, Surface};
pub use event_sink::EventSink;
pub use list::{LIST, Toolbox, find_tool};
pub use repository::on_default_host;
pub use spec::{Effects, TimeoutClass, ToolSpec};
pub use toolset::{OPT_IN_TOOLSETS, OptInToolset, Toolset};
pub use visibility::{DEFAULT_TOOLSETS, EVERY_TOOLSET, ToolVisibility};
