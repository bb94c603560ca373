//! `compact_sqlite_index`: removes unused rows and free pages from a portable file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::build_sqlite_index::PortableMode;
use super::project_file::ProjectFile;
use crate::app::Bulkhead;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::repository::repository_root;
use crate::tools::spec::run_typed;
use crate::tools::{Call, Effects, ToolSpec, Toolset, repository, schema};
use contract::{ErrorCode, Fault};
use tenancy::Scope;
use upkeep::portable::{CompactRequest, compact_portable, portable_file_name};

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "compact_sqlite_index",
    title: "Compact portable index",
    description: "Shrink a file of `build_sqlite_index`: removes unused rows and free pages, checks every page, and replaces the file \
        atomically. Try `dryRun` first.",
    toolset: Toolset::ARTIFACTS,
    effects: Effects::WRITES,
    scope: Scope::Index,
    bulkhead: Bulkhead::Index,
    timeout: |limits| limits.artifacts_ms,
    input: schema::generate_schema::<CompactSqliteIndexInput>,
    output: schema::generate_output_schema::<CompactSqliteIndexOutput>,
    run: |call, arguments| run_typed(call, arguments, compact_sqlite_index),
    ..ToolSpec::BASE
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct CompactSqliteIndexInput {
    /// Compact the file of this repository: its path or name. Default: the file of the project.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Project; default: the session's.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
    /// Compact the file that was built with this mode; default all.
    mode: Option<PortableMode>,
    /// Compact another file: its name in the project's folder, or for the operator a path.
    #[schemars(length(min = 1, max = 4096))]
    path: Option<String>,
    /// Report what would be freed, change nothing.
    dry_run: Option<bool>,
    /// Keep the old file as `<name>.bak`.
    keep_backup: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CompactSqliteIndexOutput {
    /// The file: for the operator its path, else its name in the project's folder.
    path: String,
    /// True if nothing was changed.
    dry_run: bool,
    /// Size before, in bytes.
    bytes_before: u64,
    /// Size after, in bytes; in a dry run an estimate.
    bytes_after: u64,
    /// Bytes that were freed; in a dry run, that would be.
    freed_bytes: u64,
    /// Removed vectors whose text is in no chunk.
    vectors_removed: i64,
    /// Other removed rows that nothing referenced.
    rows_removed: i64,
    /// The old file, if `keepBackup` was set.
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<String>,
}

async fn compact_sqlite_index(
    call: Call,
    input: CompactSqliteIndexInput,
) -> Result<CompactSqliteIndexOutput, Fault> {
    let project_id = input.project_id.as_deref();
    call.allowed_project(project_id).await?;
    let project = call.project(project_id).await?;
    if input.path.is_some() && (input.repo_path.is_some() || input.mode.is_some()) {
        return Err(Fault::new(
            ErrorCode::InvalidRequest,
            "`path` cannot be combined with `repoPath` or `mode`.",
        )
        .with_hint("Give either `path`, or `repoPath` and `mode`."));
    }
    let name = match &input.repo_path {
        Some(repo) => {
            let root = repository_root(&call, &project, repo).await?;
            repository::list_repositories(&call, &project).await?.into_iter().find(|row| row.root == root)
        }
        None => None,
    }
    .map(|row| row.name);
    let default = portable_file_name(input.mode.unwrap_or_default().into(), name.as_deref());
    let target = ProjectFile::resolve(&call, &project, "path", input.path.as_deref(), &default)?;
    let (dry_run, keep_backup) = (input.dry_run.unwrap_or_default(), input.keep_backup.unwrap_or_default());
    let compacted = compact_portable(&CompactRequest {
        file: &target.path,
        dry_run,
        keep_backup,
        settings: &call.app.config.portable,
        cancel: &call.cancel,
    })
    .await?;
    Ok(CompactSqliteIndexOutput {
        backup: (keep_backup && !dry_run).then(|| format!("{}.bak", target.display_path)),
        path: target.display_path,
        dry_run,
        bytes_before: compacted.bytes_before,
        bytes_after: compacted.bytes_after,
        freed_bytes: compacted.bytes_before.saturating_sub(compacted.bytes_after),
        vectors_removed: compacted.dropped.vectors,
        rows_removed: compacted.dropped.rows,
    })
}
