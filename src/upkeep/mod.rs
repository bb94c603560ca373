//! What keeps an installation whole: runtime files.

pub mod assets;
