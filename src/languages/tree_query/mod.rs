//! Queries over syntax trees, in tree-sitter's query language, read and matched here.
//!
//! tree-sitter's own `Query` analyses each pattern against the grammar's parse table before the first match: up to
//! four seconds of processor time for one language. Nothing of that changes what matches, so queries are read here
//! without it, in a millisecond or less. The tests compile every query with tree-sitter as well, which finds patterns
//! that can never match, and compare what both find (`oracle.rs`).
//!
//! What is understood: named and anonymous nodes, `_` and `(_)`, supertypes, fields and absent fields, alternatives,
//! groups, anchors, `?`, `*`, `+`, captures, `#eq?`, `#any-of?`, `#match?`, their opposites and `#set!`. Anything else
//! is an error when the query is read.

mod matches;
mod nodes;
mod predicates;
mod read;
mod words;

#[cfg(test)]
mod oracle;

pub(super) use matches::{Captured, Hit, Matcher};
pub(super) use nodes::Nodes;
pub(super) use read::Query;
pub(super) use words::capture_names;
