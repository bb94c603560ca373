//! The surfaces for clients: they decode requests, call [`gate::tools::call`] and encode answers. Rules, defaults and SQL belong
//! elsewhere.
//!
//! Every surface offers the same tools ([`listing`]) and the same envelope ([`answer`]). People see the same colours
//! ([`code_pieces`]), marked words ([`marks`]) and explanations of scores ([`score`]) on pages and on terminals.
//!
//! A subsystem adds its routes, pages and commands as one value ([`module`]). It builds them from three doors:
//! [`http::routing`], [`http::pages::frame`] and [`cli::shell`].

mod answer;
mod code_pieces;
mod commit;
pub mod contracts;
mod listing;
mod marks;
pub mod module;
pub mod modules;
mod progress;
mod score;
mod uri_encoding;

pub mod mcp;

pub mod http;

pub mod cli;
