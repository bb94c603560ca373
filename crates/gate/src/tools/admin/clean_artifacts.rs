//! `clean_artifacts`: removes the indexes of repositories from the caller's project.

use schemars::JsonSchema;
use serde::Deserialize;

use super::removal::{self, RemovalOutput};
use crate::app::{Bulkhead, Cleaning};
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::repository::{indexed_repository, list_repositories};
use crate::tools::spec::run_typed;
use crate::tools::{Call, Effects, ToolSpec, Toolset, schema};
use contract::{ErrorCode, Fault};
use tenancy::Scope;

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "clean_artifacts",
    title: "Clean artifacts",
    description: "Remove a repository's index and its derived files from a project; with all=true, those of all repositories. \
        Keeps the repository itself, the project, its security records, models and word lists. dryRun shows what would be removed.",
    toolset: Toolset::ADMIN,
    effects: Effects::REMOVES,
    scope: Scope::Admin,
    bulkhead: Bulkhead::Index,
    timeout: |limits| limits.artifacts_ms,
    input: schema::generate_schema::<CleanArtifactsInput>,
    output: schema::generate_output_schema::<RemovalOutput>,
    run: |call, arguments| run_typed(call, arguments, clean_artifacts),
    ..ToolSpec::BASE
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct CleanArtifactsInput {
    /// The repository: its absolute path or its name. Either this or all=true is required.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Project; default: the session's.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
    /// true: all repositories of the project.
    all: Option<bool>,
    /// true: report what would be removed, change nothing.
    dry_run: Option<bool>,
}

async fn clean_artifacts(call: Call, input: CleanArtifactsInput) -> Result<RemovalOutput, Fault> {
    let (every, dry_run) = (input.all.unwrap_or(false), input.dry_run.unwrap_or(false));
    if every == input.repo_path.is_some() {
        return Err(Fault::new(ErrorCode::InvalidRequest, "The call must say what to remove.").with_hint(
            "Give either repoPath for one repository or all=true for all repositories of the project.",
        ));
    }
    let project = call.project(input.project_id.as_deref()).await?;
    let mut repositories = match &input.repo_path {
        Some(named) => vec![indexed_repository(&call, &project, named).await?],
        None => list_repositories(&call, &project).await?,
    };
    // Records have a repository row; this tool does not remove them.
    repositories.retain(|row| !row.is_records());
    if repositories.is_empty() && !every {
        return Err(Fault::new(
            ErrorCode::InvalidRequest,
            "The project's security records are not a repository.",
        )
        .with_hint("Name a repository that `index_status` shows."));
    }
    let cleaning = Cleaning { app: &call.app, project: &project, repositories: &repositories, all: every };
    let removed =
        if dry_run { cleaning.plan(&call.cancel).await? } else { cleaning.execute(&call.cancel).await? };
    Ok(removal::removal_output(&call, &project, dry_run, removed))
}
