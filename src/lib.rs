//! `PairOfCleats`: semantic code search that a team runs on its own machines.
//!
//! The package that clients reach. What it stands on are the packages below `crates/`; `ARCHITECTURE.md` has the map, and walks
//! through a call, an index run and a provisioning.
//!
//! | module | what it answers |
//! |---|---|
//! | `fuzzing` | of tests: what a fuzzer drives, each as one function over bytes |
//! | [`surfaces`] | how clients reach us: CLI, MCP, HTTP. Decode, call, encode |
//! | [`mod@bench`] | how well and how fast: questions with known answers, and the clock |
//! | [`tools`] | what clients can do: one list, one entry and one file an operation |
//! | [`app`] | what is built once, and its start and stop |

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

pub mod surfaces;

pub mod bench;

pub mod tools;

pub mod app;
