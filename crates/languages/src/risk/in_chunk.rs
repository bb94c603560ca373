//! The findings of a file that are in one chunk, for display, and the facts that filters find them by.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::findings::{Findings, Place, RiskFlow, deduplicated};
use super::rule::Severity;
use crate::facts::Field;

/// Findings of one chunk.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChunkRisk {
    /// The highest severity of its sinks and flows; `None` without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// Places where untrusted input enters.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "each_once")]
    pub sources: Vec<Place>,
    /// Dangerous operations.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "each_once")]
    pub sinks: Vec<Place>,
    /// Places where values are sanitized.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "each_once")]
    pub sanitizers: Vec<Place>,
    /// Flows that begin or end here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<RiskFlow>,
}

/// Reads places, and removes the duplicates that older versions stored.
fn each_once<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Place>, D::Error> {
    Vec::deserialize(deserializer).map(deduplicated)
}

impl JsonSchema for ChunkRisk {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ChunkRisk".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "object", "description": "Sources, sinks, sanitizers and flows with their lines." })
    }
}

impl ChunkRisk {
    /// The findings in the lines `first..=last`; `None` if there are none.
    #[must_use]
    pub fn in_lines(findings: &Findings, first: u32, last: u32) -> Option<Self> {
        let here = |line: u32| (first..=last).contains(&line);
        let places = |all: &[Place]| all.iter().filter(|place| here(place.line)).cloned().collect::<Vec<_>>();
        let sinks = places(&findings.sinks);
        let touches = |flow: &&RiskFlow| here(flow.evidence.source_line) || here(flow.evidence.sink_line);
        let flows: Vec<RiskFlow> = findings.flows.iter().filter(touches).cloned().collect();
        let severity =
            sinks.iter().filter_map(|sink| sink.severity).chain(flows.iter().map(|flow| flow.severity)).max();
        let risk = Self {
            severity,
            sources: places(&findings.sources),
            sinks,
            sanitizers: places(&findings.sanitizers),
            flows,
        };
        (risk != Self::default()).then_some(risk)
    }

    /// The facts by which filters find it; empty for sanitizers, which are not a risk.
    #[must_use]
    pub fn facts(&self) -> Vec<(Field, String)> {
        let mut facts: Vec<(Field, String)> = self.findings().flat_map(|(_, facts)| facts).collect();
        facts.sort();
        facts.dedup();
        facts
    }

    /// The findings that filters can find, each with its lines, the most relevant first, and its facts: sinks, then sources, then flows.
    /// The lines of a flow are those of its sink and its source; either may be outside the chunk.
    pub fn findings(&self) -> impl Iterator<Item = (Vec<u32>, Vec<(Field, String)>)> + '_ {
        let tags = |place: &Place| -> Vec<(Field, String)> {
            place.tags.iter().map(|tag| (Field::RiskTag, tag.clone())).collect()
        };
        let sinks = self.sinks.iter().map(move |sink| {
            let own = [(Field::RiskSink, sink.name.clone()), (Field::RiskCategory, sink.category.clone())];
            (vec![sink.line], own.into_iter().chain(tags(sink)).collect())
        });
        let sources = self.sources.iter().map(move |source| {
            let own = [(Field::RiskSource, source.name.clone())];
            (vec![source.line], own.into_iter().chain(tags(source)).collect())
        });
        let flows = self
            .flows
            .iter()
            .map(|flow| (vec![flow.evidence.sink_line, flow.evidence.source_line], flow_facts(flow)));
        sinks.chain(sources).chain(flows)
    }
}

/// The facts of a flow, for the chunks at both of its ends.
#[must_use]
pub fn flow_facts(flow: &RiskFlow) -> Vec<(Field, String)> {
    let tags = flow.tags.iter().map(|tag| (Field::RiskTag, tag.clone()));
    let ends = [
        (Field::RiskFlow, format!("{}->{}", flow.source, flow.sink)),
        (Field::RiskSource, flow.source.clone()),
        (Field::RiskSink, flow.sink.clone()),
        (Field::RiskCategory, flow.category.clone()),
    ];
    ends.into_iter().chain(tags).collect()
}
