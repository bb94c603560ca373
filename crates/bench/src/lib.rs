//! Benchmarks of search quality, speed and scale, and the command `bench` ([`MODULE`]).
//!
//! Each benchmark works in its own home (`HOME/bench`) with its own embedded database; repositories are only read. [`quality`] and
//! [`issues`] compare search results with known answers, and [`variant`] changes the ranking to measure the effect of each signal.
//! [`navigation`] compares edges between definitions with those of compilers. [`speed`] measures time and memory against the hardware
//! limits; [`code`] measures exact search and navigation at a size, [`scale`] the cost of size.

mod command;
mod experiment;
mod score;
mod tokens;

mod answers;
mod checkouts;
mod kept;
mod queries;
pub mod variant;
mod vector_cache;
pub mod vectors;

pub mod code;
pub mod issues;
pub mod navigation;
pub mod quality;
pub mod scale;
pub mod speed;

pub use command::MODULE;
pub use experiment::Experiment;
pub use queries::{Modes, Options};
pub use variant::Variant;
