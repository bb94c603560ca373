//! Risk analysis: the rules of a run, and data flows between the files of a repository.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::context::RunContext;
use super::file::SkipReason;
use contract::{ErrorCode, Fault};
use languages::risk::{Findings, Linked, ParamSink, RiskFlow, RuleSet, TaintedCall, flow_facts, link};
use store::history::Span;
use store::{FlowWrite, KnownNames, flows, history, repositories};

/// Path of the file with a repository's rules.
pub(super) const RULES_FILE: &str = ".pairofcleats/risk.toml";
/// Maximum number of flows between files that are stored for a chunk.
const FLOWS_PER_CHUNK_MAX: usize = 50;

/// The rules of a run; `None` if risk is not analysed.
pub(super) type RiskRules = Option<Arc<RuleSet>>;

/// Loads the built-in rules, extended by those of the operator and of the repository. Invalid rules of the repository
/// are skipped; the second value is then a note for the report.
///
/// # Errors
/// `INVALID_REQUEST` if the operator's rules cannot be read or are invalid.
pub(super) fn load_rules(run: &RunContext<'_>) -> Result<(RiskRules, Option<String>), Fault> {
    let settings = &run.config.indexing;
    if !(settings.risk && settings.facts) {
        return Ok((None, None));
    }
    let mut rules = RuleSet::defaults().clone();
    if let Some(path) = &settings.risk_rules {
        let text = std::fs::read_to_string(path).map_err(|error| invalid_rules(path, &error.to_string()))?;
        rules = rules.with(&text).map_err(|why| invalid_rules(path, &why))?;
    }
    let extended = match run.open_root()?.read_text(RULES_FILE, settings.file_bytes_max) {
        Ok(text) => rules.with(&text),
        Err(SkipReason::Gone) => Ok(rules.clone()),
        Err(reason) => Err(why_unread(reason, settings.file_bytes_max)),
    };
    let (rules, note) = match extended {
        Ok(extended) => (extended, None),
        Err(reason) => (rules, Some(format!("{RULES_FILE} was skipped: {reason}."))),
    };
    Ok((Some(Arc::new(rules)), note))
}

/// Returns the reason why a repository's rules could not be read.
fn why_unread(reason: SkipReason, bytes_max: u64) -> String {
    match reason {
        SkipReason::TooLarge => format!("it is larger than {bytes_max} bytes"),
        SkipReason::Link | SkipReason::NotRegular => "it is not a regular file".to_owned(),
        SkipReason::Binary | SkipReason::NotUtf8 => "it is not text".to_owned(),
        _ => "it could not be read".to_owned(),
    }
}

fn invalid_rules(path: &Path, why: &str) -> Fault {
    Fault::new(
        ErrorCode::InvalidRequest,
        format!("The risk rules of `indexing.risk_rules` are invalid: {why}."),
    )
    .with_hint(format!("Correct {} or unset the setting.", path.file_name().unwrap_or_default().display()))
}

/// The open ends of flows in a file: tainted calls to other files, and sinks that its parameters reach.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct OpenFlows {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    outgoing: Vec<TaintedCall>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    incoming: Vec<ParamSink>,
}

/// Serialises the open flows of a file for storage; `None` if there are none.
pub(super) fn encode_open_flows(findings: &Findings) -> Option<String> {
    if findings.outgoing.is_empty() && findings.incoming.is_empty() {
        return None;
    }
    let ends = OpenFlows { outgoing: findings.outgoing.clone(), incoming: findings.incoming.clone() };
    serde_json::to_string(&ends).ok().map(|json| json.replace("\\u0000", ""))
}

/// Rebuilds the flows between the files of a repository from their open flows.
///
/// # Errors
/// `ILLEGAL_STATE` if the run lost its fence; storage faults.
pub(super) async fn rebuild_flows(run: &RunContext<'_>, repository_id: i64) -> Result<(), Fault> {
    let mut tx = run.begin_batch().await?;
    let (mut outgoing, mut incoming) = (Vec::new(), Vec::new());
    for (file_id, json) in flows::risk_ends(&mut tx, repository_id).await? {
        let ends: OpenFlows = serde_json::from_str(&json).unwrap_or_default();
        outgoing.extend(ends.outgoing.into_iter().map(|call| (file_id, call)));
        incoming.extend(ends.incoming.into_iter().map(|sink| (file_id, sink)));
    }
    let linked: Vec<Linked<i64>> =
        link(&outgoing, &incoming).into_iter().filter(|linked| linked.from != linked.to).collect();
    let mut files: Vec<i64> = linked.iter().flat_map(|linked| [linked.from, linked.to]).collect();
    files.sort_unstable();
    files.dedup();
    let spans = history::spans(&mut tx, &files).await?;
    let rows = flow_rows(&linked, &spans);
    flows::replace(&mut tx, run.fence, repository_id, &rows, &mut KnownNames::default()).await?;
    repositories::clear_derived_due(&mut tx, run.fence, repository_id).await?;
    tx.commit().await
}

/// Returns whether two flows are equal, for example because a call is listed twice.
fn is_same(one: &RiskFlow, other: &RiskFlow) -> bool {
    let lines = |flow: &RiskFlow| (flow.evidence.source_line, flow.evidence.sink_line);
    let ends = |flow: &RiskFlow| [flow.source.clone(), flow.sink.clone(), flow.category.clone()];
    lines(one) == lines(other) && one.via == other.via && ends(one) == ends(other)
}

/// Returns one row for each chunk at either end of a flow, ordered by chunk.
fn flow_rows(linked: &[Linked<i64>], spans: &HashMap<i64, Vec<Span>>) -> Vec<FlowWrite> {
    let mut by_chunk: BTreeMap<i64, (i64, Vec<&RiskFlow>)> = BTreeMap::new();
    for Linked { from, to, flow } in linked {
        let evidence = &flow.evidence;
        for (file_id, line) in [(*from, evidence.source_line), (*to, evidence.sink_line)] {
            let line = i32::try_from(line).unwrap_or(i32::MAX);
            let contains_line = |span: &&Span| (span.first..=span.last).contains(&line);
            let span = spans.get(&file_id).and_then(|spans| spans.iter().find(contains_line));
            let Some(span) = span else { continue };
            let (_, flows) = by_chunk.entry(span.chunk_id).or_insert((file_id, Vec::new()));
            if flows.len() < FLOWS_PER_CHUNK_MAX && !flows.iter().any(|other| is_same(other, flow)) {
                flows.push(flow);
            }
        }
    }
    let row = |(chunk_id, (file_id, flows)): (i64, (i64, Vec<&RiskFlow>))| {
        let facts = flows.iter().flat_map(|flow| flow_facts(flow));
        let facts = facts.map(|(field, value)| (field as i16, value)).collect();
        FlowWrite { chunk_id, file_id, facts, detail: serde_json::to_string(&flows).unwrap_or_default() }
    };
    by_chunk.into_iter().map(row).collect()
}
