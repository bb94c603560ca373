//! `cache_gc`: removes what nothing uses any more from the caller's project.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::removal::{self, RemovalOutput};
use crate::app::{Bulkhead, remove_mirror, unused_mirrors, upkeep_job};
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::repository::indexed_repository;
use crate::tools::spec::run_typed;
use crate::tools::{Call, Effects, ToolSpec, Toolset, schema};
use contract::{ErrorCode, Fault, Warning};
use engine::jobs::RunningJob;
use store::{Project, RepositoryRow, Store};
use tenancy::Scope;
use upkeep::retention::{
    GarbageRequest, Removal, RemovalReason, RemovalReport, RemovedKind, RetentionLimits,
};

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "cache_gc",
    title: "Collect garbage",
    description: "Free disk space in a project: vectors and names that nothing uses, old finished runs, unfinished files, mirrors; with \
        limits also old exports, context packs and portable files, oldest first. Keeps indexed code. dryRun shows what would be removed.",
    toolset: Toolset::ADMIN,
    effects: Effects::REMOVES,
    scope: Scope::Admin,
    bulkhead: Bulkhead::Index,
    timeout: |limits| limits.artifacts_ms,
    input: schema::generate_schema::<CacheGcInput>,
    output: schema::generate_output_schema::<RemovalOutput>,
    run: |call, arguments| run_typed(call, arguments, cache_gc),
    ..ToolSpec::BASE
};

const BYTES_PER_GB: f64 = 1e9;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct CacheGcInput {
    /// Only runs and files of this repository: its absolute path or its name.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Project; default: the session's.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
    /// true: report what would be removed, change nothing.
    dry_run: Option<bool>,
    /// Largest total size of the project's files, in bytes; the oldest are removed first.
    max_bytes: Option<u64>,
    /// The same limit in gigabytes; the smaller one applies.
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    max_gb: Option<f64>,
    /// Remove files and finished runs that are older than this.
    #[schemars(range(max = 36500))]
    max_age_days: Option<u32>,
}

impl CacheGcInput {
    fn limits(&self) -> Result<RetentionLimits, Fault> {
        let bytes_of_gb = match self.max_gb {
            None => None,
            Some(gb) if gb.is_finite() && gb >= 0.0 =>
            {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "checked above; the fraction of a byte is dropped"
                )]
                Some((gb * BYTES_PER_GB) as u64)
            }
            Some(_) => {
                return Err(Fault::new(ErrorCode::InvalidRequest, "`maxGb` must be a size.")
                    .with_hint("Give maxGb as a number of gigabytes, 0 or more."));
            }
        };
        let bytes = self.max_bytes.into_iter().chain(bytes_of_gb).min();
        Ok(RetentionLimits { age_days: self.max_age_days, bytes })
    }
}

async fn cache_gc(call: Call, input: CacheGcInput) -> Result<RemovalOutput, Fault> {
    let (limits, dry_run) = (input.limits()?, input.dry_run.unwrap_or(false));
    let project = call.project(input.project_id.as_deref()).await?;
    let repository = match &input.repo_path {
        Some(named) => Some(indexed_repository(&call, &project, named).await?),
        None => None,
    };
    let store = call.app.store().await?;
    let folder = call.app.layout.project(project.id().as_str());
    let collection = GarbageCollection {
        call: &call,
        store,
        project: &project,
        folder: &folder,
        repository: repository.as_ref(),
        limits,
    };
    let mut removed = if dry_run {
        collection.request(&call.cancel).plan().await?
    } else {
        let work = |running: RunningJob| async move {
            collection.request(&running.cancel).execute(running.fence).await
        };
        upkeep_job::run_exclusive(&call.app, &project, TOOL.name, &call.cancel, work).await?
    };
    // Projects share mirrors, so only the operator removes them.
    if call.caller.principal.is_operator() && repository.is_none() {
        // Removals in the project are reported even if the mirrors that a project uses cannot be found out.
        if let Err(fault) = collect_mirrors(&call, dry_run, &mut removed).await {
            call.warn(Warning::new("mirrors_kept", format!("Mirrors were not collected: {}", fault.message)));
        }
    }
    Ok(removal::removal_output(&call, &project, dry_run, removed))
}

/// Removes the mirrors that no project uses any more, or lists them.
async fn collect_mirrors(call: &Call, dry_run: bool, removed: &mut RemovalReport) -> Result<(), Fault> {
    for mirror in unused_mirrors(&call.app).await? {
        let removal = Removal {
            what: RemovedKind::Mirror,
            name: mirror.address.clone(),
            count: 1,
            bytes: mirror.bytes,
            reason: RemovalReason::Orphan,
        };
        if dry_run || remove_mirror(&call.app, mirror).await? {
            removed.returned_bytes += if dry_run { 0 } else { removal.bytes };
            removed.removals.push(removal);
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct GarbageCollection<'a> {
    call: &'a Call,
    store: &'a Store,
    project: &'a Project,
    folder: &'a Path,
    repository: Option<&'a RepositoryRow>,
    limits: RetentionLimits,
}

impl<'a> GarbageCollection<'a> {
    /// The request of the upkeep package; `cancel` stops it. A job has a token of its own, unlike a dry run.
    fn request<'b>(self, cancel: &'b CancellationToken) -> GarbageRequest<'b>
    where
        'a: 'b,
    {
        GarbageRequest {
            project: removal::project_upkeep(self.call, self.store, self.project, self.folder, cancel),
            repository: self.repository,
            limits: self.limits,
            launch_keep_days: self.call.app.config.launch.keep_days,
            now_ms: self.call.app.clock.now().as_millisecond(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_of_two_sizes_applies() {
        let limits =
            |json: serde_json::Value| serde_json::from_value::<CacheGcInput>(json).unwrap().limits().unwrap();
        assert_eq!(limits(serde_json::json!({ "maxBytes": 5, "maxGb": 1.5 })).bytes, Some(5));
        assert_eq!(
            limits(serde_json::json!({ "maxBytes": 2_000_000_000, "maxGb": 0.5 })).bytes,
            Some(500_000_000)
        );
        assert_eq!(
            limits(serde_json::json!({ "maxAgeDays": 3 })),
            RetentionLimits { age_days: Some(3), bytes: None }
        );
    }
}
