//! Joins the symbols of a repository's files to edges between definitions, without running anything.
//!
//! A [`Repository`] is built from the interfaces of all files; it resolves the uses of one file at a time. Everything here is a
//! pure function of its arguments.

mod reference;
mod repository;
pub mod scip;

pub use reference::{Reference, ReferenceKind, Target};
pub use repository::{Repository, SourceFile};
