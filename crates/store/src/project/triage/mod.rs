//! The tables of the triage module, which are created on its first use in a project.

mod board;
mod records;

pub use board::{
    BoardPage, FindingCount, FindingFilter, SEVERITIES, STATUS_OPEN, decisions, finding_counts, findings,
};
pub use records::{Current, RecordRow, RecordWrite, Related, any, get, history, page, put};
