//! The surfaces for clients: they decode requests, call [`gate::tools::call`] and encode answers. Rules, defaults and SQL belong
//! elsewhere.
//!
//! Every surface offers the same tools ([`listing`]) and the same envelope ([`answer`]). People see the same colours
//! ([`code_pieces`]), marked words ([`marks`]) and explanations of scores ([`score`]) on pages and on terminals.

mod answer;
mod code_pieces;
mod commit;
pub mod contracts;
mod listing;
mod marks;
mod progress;
mod score;
mod uri_encoding;

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

pub mod mcp;

pub mod http;

pub mod cli;
