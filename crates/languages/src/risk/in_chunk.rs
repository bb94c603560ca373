//! The part of a file's findings that stands in one chunk: what is shown of it, and the facts it is filtered by.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::findings::{Findings, Place, RiskFlow, once};
use super::rule::Severity;
use crate::facts::Field;

/// Findings of one chunk.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChunkRisk {
    /// The worst of its sinks; none where untrusted input only comes in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// Where untrusted input comes in.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "each_once")]
    pub sources: Vec<Place>,
    /// Dangerous operations.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "each_once")]
    pub sinks: Vec<Place>,
    /// Where values are made harmless.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "each_once")]
    pub sanitizers: Vec<Place>,
    /// Flows that begin or end here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<RiskFlow>,
}

/// Places that were stored when one could be listed twice.
fn each_once<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Place>, D::Error> {
    Vec::deserialize(deserializer).map(once)
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
    /// What stands in lines `first..=last`, if anything does.
    #[must_use]
    pub fn of(findings: &Findings, first: u32, last: u32) -> Option<Self> {
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

    /// The facts by which filters find it. A sanitizer alone is no risk.
    #[must_use]
    pub fn facts(&self) -> Vec<(Field, String)> {
        let mut facts: Vec<(Field, String)> = self.findings().flat_map(|(_, facts)| facts).collect();
        facts.sort();
        facts.dedup();
        facts
    }

    /// What filters can find, each with its lines, the telling one first, and the facts by which it is found: sinks, then
    /// sources, then flows, whose lines are those of the sink and of the source, of which one may lie outside of the chunk.
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
