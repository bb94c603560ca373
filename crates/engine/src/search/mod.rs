//! Searches the index. [`execute()`] runs these stages, each in a folder of its own:
//!
//! | folder | from | to |
//! |---|---|---|
//! | [`query`] | the text of the question | words, filters and names |
//! | `filters` | filters and scope | one [`store::Filter`] for each part |
//! | `retrieve` | the plan of each part | its candidates, by words and by vectors |
//! | `rank` | candidates | one order, and the confidence in it |
//! | `present` | that order | an answer of a bounded size |
//!
//! `exact` is a search of its own: the lines that contain a text or match a pattern.

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

mod backend;
mod execute;
mod limits;
mod request;
mod stage;
mod stopwatch;

mod exact;
mod filters;
mod present;
pub mod query;
mod rank;
mod retrieve;

pub use backend::Backend;
pub use exact::{
    ExactQuery, FileMatches, LineFinder, LineInContext, LineMatches, MatchedLine, Matches, NotIndexed,
    PresentedFile, PresentedLine, slashed_query,
};
pub use execute::{SearchDeps, execute};
pub use filters::fields;
pub use filters::newer_index::newer_index;
pub(crate) use filters::newer_index::warn_of_newer;
pub use filters::request_filter::{FilterValue, RequestFilter, parse_filters};
pub use filters::revision_names::{HEAD, KnownRevisions, is_start_of_commit};
pub use present::answer::{
    AllFacts, CallEdge, Explain, ExplainedTerm, History, Hit, SearchAnswer, Timings, VectorsUsed,
};
pub use present::budget::{Budget, Fitted, Shrinks, as_shown, fit};
pub use present::facets::{Facet, FacetProperty, FacetValue, Facets};
pub use present::other_places::{OtherPlace, OtherPlaces};
pub use present::payload::{Omitted, SearchPayload, present};
pub use present::presented_hit::{PresentedHit, ScoreType, headline};
pub use present::snippet::shorten;
pub use present::sources::{SourceText, Sources};
pub(crate) use present::suggestions::similarity;
pub use present::tokens;
pub use present::total_relation::TotalRelation;
pub use query::filter as filter_text;
pub(crate) use query::other_spelling::other_spelling;
pub use query::symbol_name::{Reading, Spelling, SymbolName};
pub use rank::confidence::{Confidence, Evidence};
pub use rank::duplicates::TextHash;
pub use rank::path_kind::is_manifest;
pub use rank::ranking::Ranking;
pub use rank::scores::{CandidateFacts, RankedChunk, ScoreParts};
pub use request::{Mode, Output, SearchRequest, Vectors};
pub use retrieve::nearest::nearest;
pub(crate) use retrieve::symbol_lookup::{Looked, Wanted, look_up};
pub use stage::SearchStage;
