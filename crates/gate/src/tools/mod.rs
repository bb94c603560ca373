//! The tools that clients call: one list, from which schemas, routes, documents and tests are derived.
//!
//! A tool is one file and one entry in the list of its [`Module`](crate::module::Module); [`call()`] is the only way to run one. To add a
//! tool: write `<family>/<tool>.rs` like its neighbours, add it to the list, refresh `contracts/`.
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
pub mod for_modules;
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
pub(crate) mod artifacts;
pub mod browse;
pub(crate) mod index;
pub(crate) mod search;
pub(crate) mod status;

pub use call::{Request, call};
pub use context::{Call, Caller, Progress, ProgressUpdate, Surface};
pub use event_sink::EventSink;
pub use list::Toolbox;
pub use next::AnsweredCall;
pub use repository::on_default_host;
pub use spec::{Effects, ToolSpec};
pub use toolset::Toolset;
pub use visibility::{DEFAULT_TOOLSETS, EVERY_TOOLSET, ToolVisibility};
