//! The tables of the triage module, which are created on its first use in a project.

mod board;
mod known;
mod records;

pub use board::{
    BoardPage, FindingCount, FindingFilter, SEVERITIES, STATUS_FIXED, STATUS_OPEN, decisions, finding_counts,
    findings,
};
pub use known::{KnownFinding, foreign_ids, known, mark_fixed};
pub use records::{Current, Identity, RecordRow, RecordWrite, Related, any, get, history, page, put};
