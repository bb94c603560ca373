//! The answer of a navigation, in the form that clients receive.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::request::{Certainty, Relation};
use crate::search::TotalRelation;

/// The result of `navigate`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NavigationPayload {
    /// What was asked.
    pub relation: Relation,
    /// The symbol; absent if the name is ambiguous, or is defined elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol: Option<SymbolInfo>,
    /// The definitions that an ambiguous name may mean, the most used first; name one of them by `file` and `line`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub candidates: Vec<SymbolInfo>,
    /// The places, by file, that with most places first; those of several steps by distance.
    pub files: Vec<FilePlaces>,
    /// Number of places, or of candidates; with `totalRelation`, at least so many.
    pub total: usize,
    /// `gte` if `total` is a lower bound; absent if it is exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_relation: Option<TotalRelation>,
    /// `offset` of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
    /// Number of uses by certainty: `scip`, `resolved`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub by_certainty: BTreeMap<String, usize>,
    /// Number of uses by kind: `call`, `read`, `write`, `import`, `type`, `inherit`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub by_kind: BTreeMap<String, usize>,
    /// `impact`, `hierarchy`, `implementations`: number of places at each distance.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub steps: Vec<StepCount>,
    /// Uses of the name of which it is not known what they mean; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unresolved: Option<Unresolved>,
    /// Where `impact` or `hierarchy` stopped; absent if it reached the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
    /// What `maxTokens` cut; absent if nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omitted: Option<OmittedPlaces>,
}

/// The number of places at a distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StepCount {
    /// Number of steps; those to bases are negative.
    pub distance: i32,
    /// Number of places.
    pub total: usize,
}

/// A definition.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SymbolInfo {
    /// Simple name.
    pub name: String,
    /// Name with those of the definitions around it.
    pub qualified: String,
    /// function, method, class …
    pub kind: String,
    /// Its text up to the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Name of its repository.
    pub repo: String,
    /// Path relative to the repository.
    pub file: String,
    /// Line of the name, 1-based.
    pub line: u32,
    /// Column of the name in characters, 1-based.
    pub column: u32,
    /// Of a candidate: number of its resolved uses, up to 1,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uses: Option<usize>,
}

/// The places in one file.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FilePlaces {
    /// Name of the repository, if not that of the symbol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// Path relative to the repository.
    pub file: String,
    /// The places, by line.
    pub places: Vec<Place>,
}

/// A place: a use, or a definition.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// Line, 1-based.
    pub line: u32,
    /// Column in characters, 1-based.
    pub column: u32,
    /// Kind of use (call, read, write, import, type, inherit), or of definition.
    pub kind: String,
    /// Of a definition: its qualified name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The definition around a use; absent at the top level of the file.
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// How it is known: scip, resolved, or name (only the name fits).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certainty: Option<Certainty>,
    /// Certainty `name`: number of definitions that have the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidates: Option<usize>,
    /// `impact`, `hierarchy`, `implementations`: number of steps from the symbol. Bases have negative numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<i32>,
    /// `impact`, `hierarchy`, `implementations`: what it uses, derives from or overrides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// `callees`: lines of the calls. `impact`: lines of the uses of `via`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub at: Vec<u32>,
    /// Of a type that derives: its methods that override.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub overrides: Vec<String>,
    /// The line, or the signature of a definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Uses of a name of which only the name is known.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unresolved {
    /// Number of uses; with `totalRelation`, at least so many.
    pub total: usize,
    /// `gte` if `total` is a lower bound; absent if it is exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_relation: Option<TotalRelation>,
    /// Number of definitions that have this name; absent where the uses have several names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidates: Option<usize>,
    /// `gte` if `candidates` is a lower bound; absent if it is exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidates_relation: Option<TotalRelation>,
    /// With `certainty: name`: the places, on the pages after those of known uses.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub files: Vec<FilePlaces>,
}

/// Why a walk over the graph stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stopped {
    /// `depth`: more steps are possible; `limit`: too many definitions; `time`: it took too long.
    pub reason: StopReason,
    /// Steps that were completed.
    pub depth: u32,
    /// Definitions at the next step that were not followed; with `totalRelation`, at least so many.
    pub remaining: usize,
    /// `gte` if `remaining` is a lower bound; absent if it is exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_relation: Option<TotalRelation>,
}

/// Why a walk stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StopReason {
    /// `depth` steps were made.
    Depth,
    /// As many definitions were reached as an answer may have.
    Limit,
    /// The time for the walk was over.
    Time,
}

/// What did not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OmittedPlaces {
    /// Places without their text.
    pub texts: usize,
    /// Places that are not shown.
    pub places: usize,
    /// How to get them.
    pub hint: String,
}
