//! Portable index files: written from a project's rows, brought up to date, made smaller.

mod aside;
mod build;
mod compact;

pub use build::{Build, Built, Part, build, file_name};
pub use compact::{Compact, Compacted, compact};
