//! A door for modules: the items that their commands need.

pub use super::cancellable::cancellable;
pub use super::command_result::{CommandError, CommandResult, Exit, ToolAnswer};
pub use super::doctor::DoctorCheck;
pub use super::flags::{absolute, parse_project_id, repository, whole_number, whole_number_in};
pub use super::install::install_assets;
pub use super::output::{BAD, BOLD, DIM, GOOD, NOTE, Output, PATH, styled};
pub use super::progress_bar::CallProgressBar;
pub use super::session::{Session, StopSignal, command, parsed};
pub use super::terminal::Terminal;
pub use crate::answer::unguessable_id;
pub use crate::commit::short_commit;
