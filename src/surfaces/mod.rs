//! The surfaces for clients: they decode requests, call [`crate::tools::call`] and encode answers. Rules, defaults and SQL belong
//! elsewhere.
//!
//! Every surface offers the same tools ([`listing`]) and the same envelope ([`answer`]). People see the same colours
//! ([`code_pieces`]) and marked words ([`marks`]) on pages and on terminals.

mod answer;
mod code_pieces;
pub mod contracts;
mod listing;
mod marks;
mod progress;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;

pub mod mcp;

pub mod http;

pub mod cli;
