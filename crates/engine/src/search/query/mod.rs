//! The query language: plain words rank; `"phrases"`, `-term`, `AND OR NOT`, `( )` and `field:value` filter.
//!
//! ```text
//! sequence := clause*                     a hit must fulfil all filtering clauses
//! clause   := and ("OR" and)*
//! and      := unary ("AND" unary)*
//! unary    := "NOT" unary | "-"primary | "!"primary | primary
//! primary  := "(" sequence ")" | "\"phrase\"" | field:value | field:"value" | word
//! ```
//!
//! A clause that is a word, or a group of only words, ranks and does not filter. Most queries are prose or pasted code,
//! so text that is not clearly an operator is a word. The clause `chunk:12` searches for chunks similar to that chunk.

mod ast;
pub(super) mod exact_name;
mod lex;
mod like_field;
pub(super) mod other_spelling;
mod parse;
mod plain;
mod print;
pub(super) mod query_class;
mod slashed;
pub(super) mod symbol_name;

pub use ast::{FilterClause, SearchQuery};
pub use like_field::LikeField;
pub use parse::ParsedQuery;
pub use print::filter;
pub use slashed::SlashedQuery;
pub(super) use slashed::slashed;
