//! A door for modules: the items that their tools need.

pub use super::index::index_run::{indexable_roots, progress_update, requesting_call};
pub use super::project_id_arg::ProjectIdArg;
pub use super::repository::{repository_root, require_path_outside_commit};
pub use super::search::execute::{embedder, search_project};
pub use super::search::open_file::require_relative;
pub use super::spec::run_typed;
pub use super::unindexed_directory::is_indexed;
