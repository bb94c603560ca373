//! What keeps an installation whole: runtime files, room on disk, the end and the moving of a project.

pub mod assets;

pub mod folder;
pub mod removal;

pub mod archive;
pub mod clean;
pub mod deletion;
pub mod gc;
