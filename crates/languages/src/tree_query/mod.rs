//! Queries on syntax trees in tree-sitter's query language: a parser and a matcher.
//!
//! tree-sitter's own `Query` analyses each pattern against the grammar's parse table before the first match, which takes up to
//! four seconds of CPU time for one language. That analysis does not change what matches, so this parser omits it
//! and takes a millisecond or less. The tests also compile every query with tree-sitter, which detects patterns
//! that can never match, and compare the matches of both (`oracle.rs`).
//!
//! Supported: named and anonymous nodes, `_` and `(_)`, supertypes, fields and absent fields, alternatives,
//! groups of anchored neighbours, anchors, `?`, `*`, `+`, captures, `#eq?`, `#any-of?`, `#match?`, their opposites and
//! `#set!`. Anything else is an error when the query is read.
//!
//! Captures whose names begin with `_` are only for predicates and omitted: matches that differ only in these are one match.
//! Repetitions are greedy. The cost of a pattern grows linearly with the number of nodes (`growth.rs`).

mod matches;
mod nodes;
mod predicates;
mod read;
mod search;
mod shape;
mod tokens;

#[cfg(test)]
mod growth;
#[cfg(test)]
mod oracle;

pub(super) use matches::{Hit, Matcher};
pub(super) use nodes::{Captured, Nodes};
pub(super) use read::Query;
pub(super) use tokens::capture_names;
