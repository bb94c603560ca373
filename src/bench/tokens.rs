//! How many tokens a text costs its reader.

pub(super) use crate::search::tokens::count;
