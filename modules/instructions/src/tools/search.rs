//! `instructions/search`: entries by substring, or by meaning.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::listing::{Page, fitting, listed};
use super::open::{open, usage_by_id};
use super::refresh::is_pending;
use super::spec::reading;
use crate::catalog::{Catalog, RECORDS_ROOT, entry_id_of_path};
use contract::{ErrorCode, Fault, Warning};
use engine::search::{Mode, SearchRequest};
use gate::tools::for_modules::{ProjectIdArg, run_typed, search_project};
use gate::tools::{Call, ToolSpec, schema};
use instructions::{InstructionEntry, Stored};
use store::Project;

pub(super) const TOOL: ToolSpec = reading(
    (
        "instructions_search",
        "instructions/search",
        "Search instructions",
        "Find the team's instructions for agents: those whose title or text contains `q`, or with `semantic` those that are \
         about it, best first.",
    ),
    schema::generate_schema::<Input>,
    schema::generate_output_schema::<Output>,
    |call, arguments| run_typed(call, arguments, search),
);

/// Hits by meaning if the caller does not say how many.
const SEMANTIC_HITS: usize = 10;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The text; empty: all entries.
    #[schemars(length(max = 8192))]
    q: String,
    /// Search by meaning and rank; default false.
    semantic: Option<bool>,
    /// Most entries of the answer; default all, with `semantic` 10.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// Hash of the catalog.
    hash: String,
    /// Entries that match.
    count: usize,
    /// The entries; with `semantic` each with its `score`, 0 to 1.
    #[schemars(schema_with = "schema::any_objects")]
    items: Vec<Value>,
}

async fn search(call: Call, input: Input) -> Result<Output, Fault> {
    if input.semantic == Some(true) && !input.q.trim().is_empty() {
        require_semantic(&call)?;
        let (project, catalog) = open(&call, input.project_id.as_deref()).await?;
        return by_meaning(&call, &project, catalog, &input.q, input.limit.unwrap_or(SEMANTIC_HITS)).await;
    }
    let (project, mut catalog) = open(&call, input.project_id.as_deref()).await?;
    let mut ids = catalog.containing(&input.q).await?;
    let count = ids.len();
    ids.truncate(input.limit.unwrap_or(count));
    let Page { items, .. } = listed(&call, &project, &mut catalog, &ids, None).await?;
    let hash = catalog.hash();
    catalog.close().await?;
    Ok(Output { hash, count, items: items.iter().map(to_json).collect::<Result<_, _>>()? })
}

fn require_semantic(call: &Call) -> Result<(), Fault> {
    if call.app.config.instructions.semantic {
        return Ok(());
    }
    let message = "The entries are not indexed, so they cannot be searched by meaning.";
    Err(Fault::new(ErrorCode::CapabilityMissing, message).with_hint(
        "The operator enables it with `instructions.semantic = true`; leave `semantic` out meanwhile.",
    ))
}

/// The entries that the query is about, best first. Of an entry with several chunks, the best counts.
async fn by_meaning(
    call: &Call,
    project: &Project,
    mut catalog: Catalog,
    query: &str,
    limit: usize,
) -> Result<Output, Fault> {
    if is_pending(call, project).await? {
        let message = "Entries were changed and are being indexed; this search may miss them.";
        call.warn(Warning::new("index_pending", message));
    }
    let scored = scored_entries(call, project, query, limit).await?;
    let ids: Vec<String> = scored.iter().map(|(id, _)| id.clone()).collect();
    let mut by_id: HashMap<String, Stored> = HashMap::new();
    for stored in catalog.with_ids(&ids).await? {
        by_id.insert(stored.instruction.id.clone(), stored);
    }
    let hash = catalog.hash();
    catalog.close().await?;
    let usage = usage_by_id(call, project, ids).await?;
    let mut found = Vec::with_capacity(scored.len());
    for (id, score) in &scored {
        let Some(stored) = by_id.get(id) else { continue };
        let mut item = to_json(&InstructionEntry::new(stored, usage.get(id).copied()))?;
        item["score"] = (*score).into();
        found.push(item);
    }
    let count = found.len();
    let items = fitting(call, found.into_iter());
    if items.len() < count {
        call.warn(Warning::new("answer_cut", "The answer is cut at the size limit of answers."));
    }
    Ok(Output { hash, count, items })
}

/// Ids of the entries that a query is about, with their scores from 0 to 1, best first.
pub(super) async fn scored_entries(
    call: &Call,
    project: &Project,
    query: &str,
    limit: usize,
) -> Result<Vec<(String, f64)>, Fault> {
    let request = SearchRequest {
        query: query.to_owned(),
        repository_roots: vec![RECORDS_ROOT.to_owned()],
        mode: Mode::Records,
        // An entry may have several chunks.
        top: (limit * 2).min(call.app.config.search.top_max),
        ..SearchRequest::default()
    };
    let answer = match search_project(call, project, &request).await {
        Ok(answer) => answer,
        // Nothing has been indexed yet.
        Err(fault) if fault.code == ErrorCode::NoIndex => return Ok(Vec::new()),
        Err(fault) => return Err(fault),
    };
    let mut scored: Vec<(String, f64)> = Vec::new();
    for hit in answer.hits {
        let Some(id) = entry_id_of_path(&hit.path) else { continue };
        if scored.iter().all(|(known, _)| known != id) {
            scored.push((id.to_owned(), f64::from(hit.score)));
        }
    }
    scored.truncate(limit);
    Ok(scored)
}

pub(super) fn to_json(item: &impl Serialize) -> Result<Value, Fault> {
    serde_json::to_value(item).map_err(|error| Fault::internal("An entry could not be serialized.", error))
}
