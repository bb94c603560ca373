//! Reads and writes SCIP, the format in which compilers' indexers say where each name is defined and used.
//!
//! The protobuf reader is our own. A SCIP file of a large repository has hundreds of megabytes and comes from outside: it must be read one
//! document at a time, with every count bounded before memory is allocated for it. Generated protobuf code wants the whole message in
//! memory and bounds nothing; the part of the wire format that SCIP uses is smaller than the code that would be needed around such a
//! library.

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

mod definitions;
mod document;
mod error;
mod given;
mod limits;
mod lines;
mod metadata;
mod plausibility;
mod range;
mod reader;
mod symbol;
mod wire;
mod writer;

#[cfg(test)]
mod tests;

pub use definitions::{Definition, Definitions, TooManyDefinitions};
pub use document::{Document, Occurrence, Relationship, Roles, SymbolInformation, SymbolKind};
pub use error::{Error, Problem};
pub use given::{GivenDocument, GivenOccurrence, GivenTarget};
pub use limits::Limits;
pub use lines::Lines;
pub use metadata::Metadata;
pub use range::{Position, PositionEncoding, Range};
pub use reader::Reader;
pub use symbol::{Descriptor, DescriptorKind, Symbol, SymbolError};
pub use writer::Writer;
