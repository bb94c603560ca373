//! What keeps an installation whole: runtime files, word lists, extensions, portable index files; room on disk, the end
//! and the moving of a project.

pub mod sources;

pub mod assets;
pub mod dictionaries;
pub mod extensions;

pub mod folder;
pub mod removal;

pub mod archive;
pub mod clean;
pub mod deletion;
pub mod gc;
pub mod portable;
