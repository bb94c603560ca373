//! `compact_sqlite_index`: a portable file without gaps and without rows that belong to nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::build_sqlite_index::Mode;
use super::place::Place;
use crate::app::Bulkhead;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::repository::repository;
use crate::tools::spec::typed;
use crate::tools::{Call, Effects, TimeoutClass, ToolSpec, Toolset, repository, schema};
use contract::{ErrorCode, Fault};
use tenancy::Scope;
use upkeep::portable::{self, Compact};

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "compact_sqlite_index",
    title: "Compact portable index",
    description: "Make a file of `build_sqlite_index` smaller: unused rows and free pages go, every page is checked, the file is \
        swapped. Try `dryRun` first.",
    toolset: Toolset::Artifacts,
    effects: Effects::WRITES,
    scope: Scope::Index,
    bulkhead: Bulkhead::Index,
    timeout: TimeoutClass::Artifacts,
    input: schema::of::<Input>,
    output: schema::of_answer::<Output>,
    run: |call, arguments| typed(call, arguments, run),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Input {
    /// The file of this repository: its path or name. Default: that of the project.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Project; omitted: the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
    /// The file that was made with this mode; default all.
    mode: Option<Mode>,
    /// Another file: its name in the project's folder; the operator may give a path.
    #[schemars(length(min = 1, max = 4096))]
    path: Option<String>,
    /// Say what would become free, change nothing.
    dry_run: Option<bool>,
    /// Keep the old file as `<name>.bak`.
    keep_backup: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// The file: a path for the operator, else a name in the project's folder.
    path: String,
    /// Whether nothing was changed.
    dry_run: bool,
    /// Size before.
    bytes_before: u64,
    /// Size after; in a dry run, what it would be.
    bytes_after: u64,
    /// Bytes that became free; in a dry run, that would.
    freed_bytes: u64,
    /// Vectors of texts that no chunk has.
    vectors_removed: i64,
    /// Other rows that belonged to nothing.
    rows_removed: i64,
    /// The old file, if it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<String>,
}

async fn run(call: Call, input: Input) -> Result<Output, Fault> {
    let project_id = input.project_id.as_deref();
    call.allowed_project(project_id).await?;
    let project = call.project(project_id).await?;
    if input.path.is_some() && (input.repo_path.is_some() || input.mode.is_some()) {
        return Err(Fault::new(
            ErrorCode::InvalidRequest,
            "`path` names one file; `repoPath` and `mode` name another.",
        )
        .with_hint("Give either `path`, or `repoPath` and `mode`."));
    }
    let name = match &input.repo_path {
        Some(repo) => {
            let root = repository(&call, &project, repo).await?;
            repository::all(&call, &project).await?.into_iter().find(|row| row.root == root)
        }
        None => None,
    }
    .map(|row| row.name);
    let usual = portable::file_name(input.mode.unwrap_or_default().into(), name.as_deref());
    let place = Place::of(&call, &project, "path", input.path.as_deref(), &usual)?;
    let (dry_run, keep_backup) = (input.dry_run.unwrap_or_default(), input.keep_backup.unwrap_or_default());
    let compacted = portable::compact(&Compact {
        file: &place.path,
        dry_run,
        keep_backup,
        settings: &call.app.config.portable,
        cancel: &call.cancel,
    })
    .await?;
    Ok(Output {
        backup: (keep_backup && !dry_run).then(|| format!("{}.bak", place.shown)),
        path: place.shown,
        dry_run,
        bytes_before: compacted.bytes_before,
        bytes_after: compacted.bytes_after,
        freed_bytes: compacted.bytes_before.saturating_sub(compacted.bytes_after),
        vectors_removed: compacted.shrunk.vectors,
        rows_removed: compacted.shrunk.rows,
    })
}
