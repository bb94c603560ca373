//! `cache_gc`: what nothing needs any more goes, inside the caller's project.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::reclaim::{self, Output};
use crate::app::{Bulkhead, upkeep_job};
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::spec::typed;
use crate::tools::{Call, Effects, TimeoutClass, ToolSpec, Toolset, schema};
use contract::{ErrorCode, Fault};
use engine::jobs::RunningJob;
use store::{Project, RepositoryRow, Store};
use tenancy::Scope;
use upkeep::gc::{Limits, Request};

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "cache_gc",
    title: "Collect garbage",
    description: "Free disk space in a project: vectors and names that nothing uses, old finished runs, unfinished files; with \
        limits also old exports, context packs and portable files, oldest first. Indexed code stays. dryRun shows what would go.",
    toolset: Toolset::Admin,
    effects: Effects::REMOVES,
    scope: Scope::Admin,
    bulkhead: Bulkhead::Index,
    timeout: TimeoutClass::Artifacts,
    input: schema::of::<Input>,
    output: schema::of_answer::<Output>,
    run: |call, arguments| typed(call, arguments, run),
};

/// Bytes of a gigabyte.
const GB: f64 = 1e9;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Input {
    /// Only runs and files of this repository: its absolute path or its name.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Project; omitted: the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
    /// true: say what would go, change nothing.
    dry_run: Option<bool>,
    /// The project's files may take so many bytes; the oldest go.
    max_bytes: Option<u64>,
    /// The same in gigabytes; the smaller one counts.
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    max_gb: Option<f64>,
    /// Files and finished runs older than this go.
    #[schemars(range(max = 36500))]
    max_age_days: Option<u32>,
}

impl Input {
    fn limits(&self) -> Result<Limits, Fault> {
        let of_gb = match self.max_gb {
            None => None,
            Some(gb) if gb.is_finite() && gb >= 0.0 =>
            {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "checked; whole bytes are meant"
                )]
                Some((gb * GB) as u64)
            }
            Some(_) => {
                return Err(Fault::new(ErrorCode::InvalidRequest, "maxGb is a size.")
                    .with_hint("Give maxGb as a number of gigabytes, 0 or more."));
            }
        };
        let bytes = self.max_bytes.into_iter().chain(of_gb).min();
        Ok(Limits { age_days: self.max_age_days, bytes })
    }
}

async fn run(call: Call, input: Input) -> Result<Output, Fault> {
    let (limits, dry_run) = (input.limits()?, input.dry_run.unwrap_or(false));
    let project = call.project(input.project_id.as_deref()).await?;
    let repository = match &input.repo_path {
        Some(named) => reclaim::row(&call, &project, named).await?,
        None => None,
    };
    let store = call.app.store().await?;
    let folder = call.app.layout.project(project.id().as_str());
    let asked = Asked {
        call: &call,
        store,
        project: &project,
        folder: &folder,
        repository: repository.as_ref(),
        limits,
    };
    let removed = if dry_run {
        asked.of(&call.cancel).plan().await?
    } else {
        let work = |running: RunningJob| async move { asked.of(&running.cancel).run(running.fence).await };
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
    repository: Option<&'a RepositoryRow>,
    limits: Limits,
}

impl<'a> Asked<'a> {
    /// The request, stopped by `cancel`.
    fn of<'b>(self, cancel: &'b CancellationToken) -> Request<'b>
    where
        'a: 'b,
    {
        Request {
            place: reclaim::place(self.call, self.store, self.project, self.folder, cancel),
            repository: self.repository,
            limits: self.limits,
            now_ms: self.call.app.clock.now().as_millisecond(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_of_two_sizes_counts() {
        let limits =
            |json: serde_json::Value| serde_json::from_value::<Input>(json).unwrap().limits().unwrap();
        assert_eq!(limits(serde_json::json!({ "maxBytes": 5, "maxGb": 1.5 })).bytes, Some(5));
        assert_eq!(
            limits(serde_json::json!({ "maxBytes": 2_000_000_000, "maxGb": 0.5 })).bytes,
            Some(500_000_000)
        );
        assert_eq!(limits(serde_json::json!({ "maxAgeDays": 3 })), Limits { age_days: Some(3), bytes: None });
    }
}
