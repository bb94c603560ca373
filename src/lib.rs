//! `PairOfCleats`: semantic code search that a team runs on its own machines.
//!
//! Clients reach this package; it builds on the packages in `crates/`. `ARCHITECTURE.md` has a map of them and walks through a
//! call, an index run and a provisioning.
//!
//! | module | contents |
//! |---|---|
//! | `fuzzing` | only for tests: the fuzz targets, each a function over bytes |
//! | [`surfaces`] | how clients reach the tools: CLI, MCP, HTTP. Decode, call, encode |
//! | [`mod@bench`] | measurements of quality (questions with known answers) and speed |
//! | [`tools`] | what clients can do: one list, with one entry and one file per operation |
//! | [`app`] | the state that all surfaces share; start and stop of the server |
//! | [`catalog`] | the instruction catalog in the database |

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

pub mod surfaces;

pub mod bench;

pub mod tools;

pub mod app;

pub mod catalog;
