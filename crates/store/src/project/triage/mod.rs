//! The tables of the triage module, which a project has from its first use on.

mod records;

pub use records::{Current, RecordRow, RecordWrite, Related, any, get, history, page, put};
