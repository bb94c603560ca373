//! Queries over syntax trees, in tree-sitter's query language, read and matched here.
//!
//! tree-sitter's own `Query` analyses each pattern against the grammar's parse table before the first match: up to
//! four seconds of processor time for one language. Nothing of that changes what matches, so queries are read here
//! without it, in a millisecond or less. The tests compile every query with tree-sitter as well, which finds patterns
//! that can never match, and compare what both find (`oracle.rs`).
//!
//! What is understood: named and anonymous nodes, `_` and `(_)`, supertypes, fields and absent fields, alternatives,
//! groups of anchored neighbours, anchors, `?`, `*`, `+`, captures, `#eq?`, `#any-of?`, `#match?`, their opposites and
//! `#set!`. Anything else is an error when the query is read.
//!
//! Captures whose names begin with `_` serve predicates and are not told: matches that differ in nothing else are one.
//! A repetition takes all that it can have. What a pattern costs grows with the number of nodes (`growth.rs`).

mod matches;
mod nodes;
mod predicates;
mod read;
mod search;
mod shape;
mod words;

#[cfg(test)]
mod growth;
#[cfg(test)]
mod oracle;

pub(super) use matches::{Captured, Hit, Matcher};
pub(super) use nodes::Nodes;
pub(super) use read::Query;
pub(super) use words::capture_names;
