//! A question to ranked chunks: parse, plan, retrieve, fuse, rank, present.

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

mod ask;
mod request;
mod stage;

pub mod question;

mod naming;
pub mod shape;

pub mod fields;
mod given;
mod misread;
mod pattern;
mod regex_filter;
mod resolve;
mod scope;
mod unknown;

mod nearest;
pub mod plan;
mod ranking;
mod retrieve;

mod affinity;
mod confidence;
pub mod fuse;
mod limits;
pub mod rank;
mod role;
mod spelling;
mod stopwatch;

mod budget;
mod hits;
mod matched;
mod present;
mod snippet;
mod spelled;
mod surroundings;
pub mod tokens;

pub use ask::{Deps, search};
pub use budget::{Budget, Fitted, Shrinks, as_shown, fit};
pub use confidence::{Confidence, Evidence};
pub use given::{Given, GivenValue, given};
pub use nearest::nearest;
pub use present::{Omitted, PresentedHit, ScoreType, SearchPayload, TotalRelation, headline, present};
pub use rank::{Facts, Parts, Ranked};
pub use ranking::Ranking;
pub use request::{
    Backend, Explain, ExplainedTerm, History, Hit, Known, Mode, Output, SearchAnswer, SearchRequest, Timings,
    Vectors, VectorsUsed,
};
pub use snippet::shorten;
pub use stage::Stage;
