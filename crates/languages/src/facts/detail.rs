//! The facts of a chunk that results display but filters do not use; stored with the chunk as JSON.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::field::{Counts, Facts, Lint};
use crate::risk::ChunkRisk;

/// Who calls what, how control flows, what is broken, what the documentation says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Detail {
    /// Calls in order, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallPair>,
    /// Control flow, where the language's facts count it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_flow: Option<Counts>,
    /// Structural rules that are broken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lint: Vec<Lint>,
    /// Untrusted input, dangerous operations and what lies between, in this file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk: Option<ChunkRisk>,
    /// Documentation, at most 300 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doc: Option<String>,
}

/// A call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallPair {
    /// Qualified name of the function that calls; none at the top level of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// What it calls, with `.` between the parts.
    pub callee: String,
}

impl Detail {
    /// The displayed part of these facts, without risks.
    #[must_use]
    pub fn from_facts(facts: &Facts) -> Self {
        let pair = |(caller, callee): &(Option<String>, String)| CallPair {
            caller: caller.clone(),
            callee: callee.clone(),
        };
        Self {
            calls: facts.calls.iter().map(pair).collect(),
            control_flow: facts.counts.filter(|counts| *counts != Counts::default()),
            lint: facts.lint.clone(),
            risk: None,
            doc: facts.doc.clone(),
        }
    }

    /// The stored form; `None` if it is empty.
    #[must_use]
    pub fn to_json(&self) -> Option<String> {
        (*self != Self::default()).then(|| serde_json::to_string(self).ok())?
    }
}
