//! What keeps an installation whole: runtime files; and what leaves it: portable index files.

pub mod assets;
pub mod portable;
