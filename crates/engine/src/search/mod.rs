//! Searches the index: parse, plan, retrieve, fuse, rank, read, present.
//!
//! [`execute()`] runs these steps; each of them is a module of its own.

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

mod answer;
mod execute;
mod request;
mod stage;

mod exact;
pub mod query;

mod other_spelling;

mod exact_name;
pub mod query_class;
mod symbol_name;

mod symbol_lookup;

mod field_hints;
pub mod fields;
mod graph_filter;
mod name_filter;
mod newer_index;
mod pattern;
mod regex_filter;
mod request_filter;
mod resolve;
mod revision_names;
mod revisions;
mod scope;
mod unknown_facts;

mod choice;
mod nearest;
mod part;
mod parts;
pub mod plan;
mod ranking;
mod retrieve;
mod several;
mod statistics;
mod ties;

mod affinity;
mod confidence;
mod duplicates;
mod facets;
pub mod fuse;
mod limits;
mod literal;
mod merge;
mod path_kind;
pub mod rank;
mod ranked;
mod stopwatch;
mod suggestions;

mod budget;
mod filter_value;
mod hits;
mod matched_definition;
mod other_places;
mod present;
mod presented_hit;
mod snippet;
mod sources;
mod surroundings;
pub mod tokens;

pub use answer::{
    AllFacts, Backend, CallEdge, Explain, ExplainedTerm, History, Hit, SearchAnswer, Timings, VectorsUsed,
};
pub use budget::{Budget, Fitted, Shrinks, as_shown, fit};
pub use confidence::{Confidence, Evidence};
pub use duplicates::TextHash;
pub use exact::{
    ExactQuery, FileMatches, LineFinder, LineInContext, LineMatches, MatchedLine, Matches, NotIndexed,
    PresentedFile, PresentedLine, slashed_query,
};
pub use execute::{SearchDeps, execute};
pub use facets::{Facet, FacetProperty, FacetValue, Facets};
pub use nearest::nearest;
pub use newer_index::newer_index;
pub(crate) use newer_index::warn_of_newer;
pub use other_places::{OtherPlace, OtherPlaces};
pub(crate) use other_spelling::other_spelling;
pub use path_kind::is_manifest;
pub use present::{Omitted, SearchPayload, TotalRelation, present};
pub use presented_hit::{PresentedHit, ScoreType, headline};
pub use query::filter as filter_text;
pub use rank::{CandidateFacts, RankedChunk, ScoreParts};
pub use ranking::Ranking;
pub use request::{Mode, Output, SearchRequest, Vectors};
pub use request_filter::{FilterValue, RequestFilter, parse_filters};
pub use revision_names::{HEAD, KnownRevisions, is_start_of_commit};
pub use snippet::shorten;
pub use sources::{SourceText, Sources};
pub use stage::SearchStage;
pub(crate) use suggestions::similarity;
pub(crate) use symbol_lookup::{Looked, Wanted, look_up};
pub use symbol_name::{Reading, Spelling, SymbolName};
