//! `clean_artifacts`: takes repositories out of the caller's project.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::reclaim::{self, Output};
use crate::app::{Bulkhead, upkeep_job};
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::repository::all;
use crate::tools::spec::typed;
use crate::tools::{Call, Effects, TimeoutClass, ToolSpec, Toolset, schema};
use contract::{ErrorCode, Fault};
use engine::jobs::RunningJob;
use store::{Project, RepositoryRow, Store};
use tenancy::Scope;
use upkeep::clean::Request;

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "clean_artifacts",
    title: "Clean artifacts",
    description: "Remove a repository's index from a project, with its derived files; or all repositories' with all=true. The \
        repository itself, the project, its security records, models and word lists stay. dryRun shows what would go.",
    toolset: Toolset::Admin,
    effects: Effects::REMOVES,
    scope: Scope::Admin,
    bulkhead: Bulkhead::Index,
    timeout: TimeoutClass::Artifacts,
    input: schema::of::<Input>,
    output: schema::of_answer::<Output>,
    run: |call, arguments| typed(call, arguments, run),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Input {
    /// Which repository: its absolute path or its name. This or all=true must be given.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Project; omitted: the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
    /// true: all repositories of the project.
    all: Option<bool>,
    /// true: say what would go, change nothing.
    dry_run: Option<bool>,
}

async fn run(call: Call, input: Input) -> Result<Output, Fault> {
    let (every, dry_run) = (input.all.unwrap_or(false), input.dry_run.unwrap_or(false));
    if every == input.repo_path.is_some() {
        return Err(Fault::new(ErrorCode::InvalidRequest, "It is not clear what is to be cleaned.")
            .with_hint(
                "Give either repoPath, one repository, or all=true, all repositories of the project.",
            ));
    }
    let project = call.project(input.project_id.as_deref()).await?;
    let mut repositories = match &input.repo_path {
        Some(named) => reclaim::row(&call, &project, named).await?.into_iter().collect(),
        None => all(&call, &project).await?,
    };
    // Security records are read like a repository, and are none.
    repositories.retain(RepositoryRow::is_folder);
    if repositories.is_empty() && !every {
        return Err(Fault::new(
            ErrorCode::InvalidRequest,
            "The project's security records are no repository.",
        )
        .with_hint("Name a repository that `index_status` shows."));
    }
    let store = call.app.store().await?;
    let folder = call.app.layout.project(project.id().as_str());
    let request = Asked {
        call: &call,
        store,
        project: &project,
        folder: &folder,
        repositories: &repositories,
        all: every,
    };
    let removed = if dry_run {
        request.of(&call.cancel).plan().await?
    } else {
        let work = |running: RunningJob| async move { request.of(&running.cancel).run(running.fence).await };
        upkeep_job::alone(&call.app, &project, TOOL.name, &call.cancel, work).await?
    };
    Ok(reclaim::output(&call, &project, dry_run, removed))
}

#[derive(Clone, Copy)]
struct Asked<'a> {
    call: &'a Call,
    store: &'a Store,
    project: &'a Project,
    folder: &'a Path,
    repositories: &'a [RepositoryRow],
    all: bool,
}

impl<'a> Asked<'a> {
    /// The request, stopped by `cancel`.
    fn of<'b>(self, cancel: &'b CancellationToken) -> Request<'b>
    where
        'a: 'b,
    {
        Request {
            place: reclaim::place(self.call, self.store, self.project, self.folder, cancel),
            repositories: self.repositories,
            all: self.all,
        }
    }
}
