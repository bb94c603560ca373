//! `launch_open_pr`: publishes the pages of a run.

use launch::event::PrOpened;
use launch::snapshot::RunSnapshot;
use launch::state::RunState;
use schemars::JsonSchema;
use serde::Serialize;

use super::run_call::{RunCall, RunInput};
use super::spec::changing;
use crate::runs::{Action, run_freshness};
use contract::{Fault, Warning};
use gate::tools::for_modules::run_typed;
use gate::tools::{Call, Effects, ToolSpec, schema};
use tenancy::Scope;

pub(crate) const TOOL: ToolSpec = ToolSpec {
    scope: Scope::Publish,
    ..changing(
        (
            "launch_open_pr",
            "Publish a launch run",
            "Publish the pages of a launch run whose validation is ok, as a branch of the site for review. Calling it again answers the \
             same branch.",
        ),
        Effects::FETCHES,
        schema::generate_schema::<RunInput>,
        schema::generate_output_schema::<Output>,
        |call, arguments| run_typed(call, arguments, open_pr),
    )
};

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    /// Id of the run.
    run_id: String,
    /// Its state now.
    state: RunState,
    /// Where people read what was published.
    pr_url: String,
    /// Number of the pull request, if there are numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pr_number: Option<i64>,
    /// The branch.
    branch: String,
    /// The commit.
    commit_sha: String,
}

async fn open_pr(call: Call, input: RunInput) -> Result<Output, Fault> {
    let run = RunCall::for_changing(call, input).await?;
    let before = run.open().await?.snapshot;
    if before.state == RunState::Done
        && let Some(output) = published(&before)
    {
        return Ok(output);
    }
    warn_if_stale(&run, &before.created.site_profile).await;
    run.act(Action::Publish).await?;
    let snapshot = run.open().await?.snapshot;
    published(&snapshot)
        .ok_or_else(|| Fault::internal("A published run has no branch.", "the event PR_OPENED is missing"))
}

/// Warns of sentences that the repository does not say any more, if the site is watched. People may publish them all the same, also where
/// this cannot be found out.
async fn warn_if_stale(run: &RunCall, site_profile: &str) {
    let known = run_freshness(&run.call.app, &run.project, run.run_id.as_str(), site_profile).await;
    let Ok(Some(freshness)) = known else { return };
    if freshness.stale_count > 0 {
        let message = format!(
            "Stale sentences on the pages of this run: {}. `launch_get_status` lists them.",
            freshness.stale_count
        );
        run.call.warn(Warning::new("stale_sentences", message));
    }
}

fn published(snapshot: &RunSnapshot) -> Option<Output> {
    let PrOpened { branch, commit_sha, pr_url, pr_number } = snapshot.publication.as_ref()?.opened.clone()?;
    Some(Output {
        run_id: snapshot.run_id.clone(),
        state: snapshot.state,
        pr_url,
        pr_number,
        branch,
        commit_sha,
    })
}
