//! The tables of the triage module, which are created on its first use in a project.

mod records;

pub use records::{Current, RecordRow, RecordWrite, Related, any, get, history, page, put};
