//! Measuring: questions with known answers, and the clock.
//!
//! Everything works in a home of its own (`HOME/bench`) with an embedded database of its own; repositories are only
//! read. [`quality`] and [`issues`] ask what search answers, [`variant`] changes the ranking so that one command tells
//! what a signal is worth. [`speed`] measures time, memory and what set the limit; [`scale`] tells what size costs.

mod lab;
mod score;
mod tokens;

mod answers;
mod checkouts;
mod memo;
mod questions;
pub mod variant;
pub mod vectors;

pub mod issues;
pub mod quality;
pub mod scale;
pub mod speed;

pub use lab::Lab;
pub use questions::Options;
pub use variant::Variant;
