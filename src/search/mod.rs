//! A question to ranked chunks: parse, plan, retrieve, fuse, rank, present.

mod ask;
mod request;

mod filter;
mod pattern;
pub mod query;
pub mod question;
pub mod shape;

pub mod plan;
mod ranking;
mod retrieve;

mod affinity;
pub mod fuse;
pub mod rank;
mod role;

mod present;
mod snippet;
mod surroundings;

pub use ask::{Deps, search};
pub use present::{Backend, Omitted, PresentedHit, ScoreType, SearchPayload, present};
pub use query::Query;
pub use rank::{Facts, Parts, Ranked};
pub use ranking::Ranking;
pub use request::{
    FilterRequest, Hit, Mode, Output, SearchAnswer, SearchRequest, Timings, Vectors, VectorsUsed,
};
