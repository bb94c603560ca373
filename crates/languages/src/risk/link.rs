//! Links untrusted input that leaves one file to dangerous parameters of functions in others.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::findings::{Evidence, ParamSink, RiskFlow, Scope, TaintedCall, confidence, confidence_over_calls};

/// A call may mean any function of its name if at most this many files or chunks define one with a dangerous parameter.
const SAME_NAME_MAX: usize = 3;

/// A flow from one file to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Linked<K> {
    /// The chunk or file where the input enters.
    pub from: K,
    /// The chunk or file with the dangerous operation.
    pub to: K,
    /// The flow; its source line is in `from`, its sink line and excerpt in `to`, its one step is the call.
    pub flow: RiskFlow,
}

/// Links calls to functions by their simple names, in the order of the calls. Ignores a name if more than three files or
/// chunks define a function of that name with a dangerous parameter, because a call could mean any of them. `K` is the caller's
/// key of a chunk or file.
#[must_use]
pub fn link<K: Copy + Eq + std::hash::Hash>(
    outgoing: &[(K, TaintedCall)],
    incoming: &[(K, ParamSink)],
) -> Vec<Linked<K>> {
    let mut by_name: HashMap<&str, Vec<&(K, ParamSink)>> = HashMap::new();
    for entry in incoming {
        by_name.entry(&entry.1.function).or_default().push(entry);
    }
    by_name
        .retain(|_, places| places.iter().map(|(key, _)| key).collect::<HashSet<_>>().len() <= SAME_NAME_MAX);
    let mut linked = Vec::new();
    for (from, call) in outgoing {
        for (to, sink) in by_name.get(call.callee.as_str()).into_iter().flatten() {
            if sink.parameter == call.argument && !call.cleared.contains(&sink.category) {
                linked.push(Linked { from: *from, to: *to, flow: flow(call, sink) });
            }
        }
    }
    linked
}

fn flow(call: &TaintedCall, sink: &ParamSink) -> RiskFlow {
    let mut tags: Vec<String> = call.tags.iter().chain(&sink.tags).cloned().collect();
    tags.sort();
    tags.dedup();
    let caller = call.function.clone().unwrap_or_else(|| "<file>".to_owned());
    RiskFlow {
        source: call.source.clone(),
        sink: sink.sink.clone(),
        category: sink.category.clone(),
        severity: sink.severity,
        tags,
        scope: Scope::CrossFile,
        confidence: confidence_over_calls(confidence(call.confidence, sink.confidence)),
        rule_ids: vec![call.rule_id.clone(), sink.rule_id.clone()],
        via: vec![caller, sink.function.clone()],
        function: call.function.clone(),
        evidence: Evidence {
            source_line: call.source_line,
            sink_line: sink.line,
            steps: vec![call.line],
            excerpt: sink.excerpt.clone(),
        },
    }
}
