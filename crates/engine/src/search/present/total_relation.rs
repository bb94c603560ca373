//! The relation of a number in an answer to the real one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How `total` relates to the real number, as in Elasticsearch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TotalRelation {
    /// The real number is `total` or more.
    Gte,
}
