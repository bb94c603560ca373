//! How many tokens a text costs its reader.

pub(super) use engine::search::tokens::count;
