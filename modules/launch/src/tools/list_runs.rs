//! `launch_list_runs`: the runs of a project.

use std::collections::BTreeMap;

use launch::ids::RunId;
use launch::state::RunState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::spec::reading;
use crate::runs;
use contract::clock::iso_from_millis;
use contract::{ErrorCode, Fault, echo};
use gate::tools::for_modules::ProjectIdArg;
use gate::tools::for_modules::run_typed;
use gate::tools::{Call, ToolSpec, schema};
use store::launch::{RunFilter, RunRow};

pub(crate) const TOOL: ToolSpec = reading(
    (
        "launch_list_runs",
        "List launch runs",
        "The launch runs of a project, the newest first; also those of one product or in one state.",
    ),
    schema::generate_schema::<Input>,
    schema::generate_output_schema::<Output>,
    |call, arguments| run_typed(call, arguments, list_runs),
);

/// Runs of a page if the caller does not say.
const LIMIT_DEFAULT: u32 = 50;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Which runs; default: all.
    filter: Option<Filter>,
    /// Runs of a page; default 50.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    #[schemars(length(max = 100))]
    cursor: Option<String>,
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
}

/// Which runs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Filter {
    /// Only those of this product.
    #[schemars(length(max = 64))]
    product_slug: Option<String>,
    /// Only those in this state, such as READY_FOR_PR.
    #[schemars(length(max = 64))]
    state: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    /// The runs.
    runs: Vec<RunSummary>,
    /// Continues the list; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct RunSummary {
    /// Its id.
    run_id: String,
    /// The product.
    product_slug: String,
    /// Its state.
    state: String,
    /// Number of open issues.
    open_issue_count: i64,
    /// The commit of the repository.
    repo_sha: String,
    /// When it was started.
    started_at: String,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<String>,
    /// Where its pages are published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pr_url: Option<String>,
    /// Number of sentences of its pages that the repository does not say any more; absent if they are not watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    stale: Option<u32>,
}

impl RunSummary {
    fn new(row: &RunRow, open_issues: &BTreeMap<String, i64>, stale: &BTreeMap<String, u32>) -> Self {
        Self {
            run_id: row.run_id.clone(),
            product_slug: row.product_slug.clone(),
            state: row.state.clone(),
            open_issue_count: open_issues.get(&row.run_id).copied().unwrap_or(0),
            repo_sha: row.repo_sha.clone(),
            started_at: iso_from_millis(row.created_ms),
            finished_at: row.finished_ms.map(iso_from_millis),
            pr_url: row.pr_url.clone(),
            stale: stale.get(&row.run_id).copied(),
        }
    }
}

async fn list_runs(call: Call, input: Input) -> Result<Output, Fault> {
    let Filter { product_slug, state } = input.filter.unwrap_or_default();
    let state = state.as_deref().map(known_state).transpose()?;
    let after = input.cursor.as_deref().map(read_cursor).transpose()?;
    let Some(project) = call.project_if_any(input.project_id.as_deref()).await? else {
        return Ok(Output { runs: Vec::new(), next_cursor: None });
    };
    let filter = RunFilter { product_slug: product_slug.as_deref(), state: state.map(RunState::as_str) };
    let limit = i64::from(input.limit.unwrap_or(LIMIT_DEFAULT));
    let after = after.as_ref().map(|(time, id)| (*time, id.as_str()));
    // One more than the page has, which shows whether there is another page.
    let mut rows = runs::list(call.app.store().await?, &project, filter, after, limit + 1).await?;
    let size = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = rows.len() > size;
    rows.truncate(size);
    let next_cursor = rows.last().filter(|_| has_more).map(cursor_after);
    let ids: Vec<String> = rows.iter().map(|row| row.run_id.clone()).collect();
    let open_issues = runs::open_issue_counts(call.app.store().await?, &project, &ids).await?;
    let stale = runs::stale_counts(&call.app, &project, &rows).await?;
    let summaries = rows.iter().map(|row| RunSummary::new(row, &open_issues, &stale)).collect();
    Ok(Output { runs: summaries, next_cursor })
}

fn known_state(text: &str) -> Result<RunState, Fault> {
    RunState::parse(text).ok_or_else(|| {
        Fault::new(ErrorCode::InvalidInput, format!("There is no state `{}`.", echo(text)))
            .with_details(json!({ "field": "filter.state", "allowedValues": RunState::ALL }))
            .with_hint("`allowedValues` lists the states.")
    })
}

fn cursor_after(row: &RunRow) -> String {
    format!("{}_{}", row.created_ms, row.run_id)
}

fn read_cursor(text: &str) -> Result<(i64, RunId), Fault> {
    let read = || {
        let (time, id) = text.split_once('_')?;
        Some((time.parse().ok()?, RunId::parse(id).ok()?))
    };
    read().ok_or_else(|| {
        Fault::new(ErrorCode::InvalidInput, "The cursor is invalid.")
            .with_details(json!({ "field": "cursor" }))
            .with_hint("Send `next_cursor` of the page before, or no cursor for the first page.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_read_back_and_others_are_refused() {
        let (time, id) = read_cursor("17_r_2026-01-21T13-00-00Z_0123abcd").unwrap();
        assert_eq!((time, id.as_str()), (17, "r_2026-01-21T13-00-00Z_0123abcd"));
        for wrong in ["", "17", "17_", "x_r_2026-01-21T13-00-00Z_0123abcd", "17_r_'; DROP TABLE"] {
            assert_eq!(read_cursor(wrong).unwrap_err().code, ErrorCode::InvalidInput, "{wrong}");
        }
    }

    #[test]
    fn an_unknown_state_is_refused_with_the_known_ones() {
        assert_eq!(known_state("READY_FOR_PR").unwrap(), RunState::ReadyForPr);
        let details = known_state("ready").unwrap_err().details.unwrap();
        assert_eq!(details["allowedValues"].as_array().unwrap().len(), 15);
    }
}
