//! Joins the symbols of a repository's files to edges between definitions, without running anything.
//!
//! A [`Repository`] is built from the interfaces of all files; it resolves the uses of one file at a time. Everything here is a
//! pure function of its arguments.

mod derived;
mod evaluate;
mod extending;
mod extensions;
mod family;
mod given;
mod includes;
pub mod incremental;
mod index;
mod known_interface;
mod local_names;
mod lookup;
mod members;
pub mod method_sets;
mod name_hash;
mod namespaces;
mod packages;
mod paths;
mod reference;
mod repository;
mod resolve;
mod rules;
pub mod scip;
mod session;
mod source_file;
mod stars;
mod value;

#[cfg(test)]
mod cases;
#[cfg(test)]
mod hostile;

pub use known_interface::KnownInterface;
pub use reference::{Reference, ReferenceKind, Target};
pub use repository::Repository;
pub use source_file::SourceFile;

/// Checks whether a character is a part of identifiers.
#[must_use]
pub fn is_in_identifier(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '$'
}
