//! What keeps an installation whole: runtime files, word lists, extensions.

pub mod sources;

pub mod assets;
pub mod dictionaries;
pub mod extensions;
