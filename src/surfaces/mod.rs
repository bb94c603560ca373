//! How clients reach us: decode, call [`crate::tools::call`], encode. No rule, default or SQL lives here.
//!
//! Every surface shows the same tools ([`listing`]) and the same envelope ([`answer`]); they differ
//! only in how a request is read and how an answer is written.

mod answer;
pub mod contracts;
mod listing;
mod progress;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;

pub mod mcp;

pub mod http;

pub mod cli;
