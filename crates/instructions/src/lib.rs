//! The instruction catalog of a project: the form of an entry, and everything that is computed from entries.
//!
//! All of it is pure: the program reads and writes the database and the files, and this crate decides what they contain.

pub mod agents;
pub mod apply;
pub mod canonical;
pub mod diff;
mod document;
pub mod duplicates;
pub mod entry;
pub mod files;
pub mod gates;
pub mod import;
mod levels;
pub mod mentions;
pub mod review;
mod rule_files;
pub mod scope;
mod sent_entry;
mod yaml;

pub use entry::{Instruction, InstructionEntry, Rules, Stored, Usage};
pub use levels::{Audience, Requirement};
pub use rule_files::RuleFiles;
