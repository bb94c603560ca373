//! A door for modules: the items that their pages need.

pub use super::answer_notes::warnings;
pub use super::data::{Answered, Asker, PageError};
pub use super::external_link::external_link;
pub use super::failure;
pub use super::folder::no_such_address;
pub use super::forms::{SentForm, token_field};
pub use super::found_code::find_code;
pub use super::layout::{Frame, project_field, shown_project};
pub use super::links::{Place, encoded, encoded_path, search_url, with_parameters};
pub use super::page;
pub use super::parameters::{Parameters, url};
pub use super::single_use::field as single_use_field;
pub use super::table::table;
pub use super::text::{bytes, message, moment};
