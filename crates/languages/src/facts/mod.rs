//! Extracts facts about the code of a chunk, which filters can use, with the `facts.scm` query of the language's folder.
//!
//! The captures of a query determine what its matches mean ([`query`] lists them). The matches become the facts of each chunk
//! ([`gather()`]), its comments ([`comments`]) and the data flow that risk analysis follows ([`flow`]).

mod detail;
mod field;

mod imported;
mod member;
mod query;
mod values;
mod visibility;

mod spellings;

mod callee;
mod calls;
mod chain;
mod comments;
mod flags;
mod flow;
mod functions;
mod gather;
mod owned;

#[cfg(test)]
mod cases;

/// Increase when the same text yields other facts. It is stored with an index, which is rebuilt when it changes.
pub const FACTS_VERSION: i32 = 14;

pub use comments::Comment;
pub use detail::{CallPair, Detail};
pub use field::{Counts, DEFINED, Facts, Field, Flag, Lint};
pub use flow::{Assignment, CallSite, Flow, FunctionSpan};
pub(super) use gather::gather;
pub(super) use query::{Compiled, FactQuery, Items, Role, items};
pub use query::{CountKind, FactKind};
pub use spellings::{
    SpellingGroup, decorator_pieces, marked_decorator, spelling_groups, spellings, whole_visibility,
};
pub use visibility::WORDS as VISIBILITIES;
