//! A question to ranked chunks: parse, plan, retrieve, fuse, rank, present.

pub mod query;
pub mod shape;
pub mod ranking;

pub mod plan;

pub mod fuse;
mod affinity;
mod role;
pub mod rank;

pub use rank::{Facts, Parts, Ranked};
pub use ranking::Ranking;
