//! What the code of a chunk does, as facts that can be filtered: read off the syntax tree by the `facts.scm` of
//! the language's folder.
//!
//! A query names what it finds by its captures ([`query`] lists them); here that becomes the facts of each chunk
//! ([`gather()`]), its comments ([`comments`]) and the flow of values that risk rules follow ([`flow`]).

mod detail;
mod field;

mod member;
mod query;
mod values;
mod visibility;

mod asked;

mod calls;
mod comments;
mod flags;
mod flow;
mod functions;
mod gather;
mod owned;

#[cfg(test)]
mod cases;

/// Bump when the same text gives other facts; stored with an index so that it is rebuilt.
pub const FACTS_VERSION: i32 = 3;

pub use asked::{decorator_pieces, marked_decorator, spellings, whole_visibility};
pub use comments::Comment;
pub use detail::{CallPair, Detail};
pub use field::{Counts, DEFINED, Facts, Field, Flag, Lint};
pub use flow::{Assignment, CallSite, Flow, FunctionSpan};
pub(super) use gather::gather;
pub(super) use query::{Compiled, FactQuery, items};
pub use query::{CountKind, Syntax};
pub use visibility::WORDS as VISIBILITIES;
