//! The query language: plain words rank; `"phrases"`, `-term`, `AND OR NOT`, `( )` and `field:value` gate.
//!
//! ```text
//! sequence := clause*                     all gating clauses hold together
//! clause   := and ("OR" and)*
//! and      := unary ("AND" unary)*
//! unary    := "NOT" unary | "-"primary | "!"primary | primary
//! primary  := "(" sequence ")" | "\"phrase\"" | field:value | field:"value" | word
//! ```
//!
//! A clause that is a word, or a group of nothing but words, ranks and does not gate: most questions are prose or pasted
//! code, so whatever is not clearly an operator is a word. `chunk:12` as a clause asks for what resembles that chunk.

mod ast;
mod lex;
mod parse;
mod plain;
mod print;

pub use ast::{Gate, Question};
pub use parse::{LikeField, Parsed};
