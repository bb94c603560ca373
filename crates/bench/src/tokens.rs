//! Counts tokens.

pub(super) use engine::search::tokens::count;
