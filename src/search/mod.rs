//! A question to ranked chunks: parse, plan, retrieve, fuse, rank, present.

pub mod query;
pub mod ranking;
pub mod shape;

pub mod plan;

mod affinity;
pub mod fuse;
pub mod rank;
mod role;

pub use rank::{Facts, Parts, Ranked};
pub use ranking::Ranking;
