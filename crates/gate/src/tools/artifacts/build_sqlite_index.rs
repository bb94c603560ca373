//! `build_sqlite_index`: writes a project's index to a portable file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::project_file::ProjectFile;
use crate::app::Bulkhead;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::repository::repository_root;
use crate::tools::spec::run_typed;
use crate::tools::{Call, Effects, ProgressUpdate, ToolSpec, Toolset, repository, schema};
use contract::{ErrorCode, Fault};
use store::Project;
use tenancy::Scope;
use upkeep::portable::{BuildReport, BuildRequest, IndexPart, build_portable, portable_file_name};

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "build_sqlite_index",
    title: "Build portable index",
    description: "Write the index of a project or repository to one SQLite file (BM25, FTS5, vectors, facts). `search` reads it with \
        backend sqlite, also offline: `pairofcleats search --sqlite FILE`.",
    toolset: Toolset::ARTIFACTS,
    effects: Effects::WRITES,
    scope: Scope::Index,
    bulkhead: Bulkhead::Index,
    timeout: |limits| limits.artifacts_ms,
    input: schema::generate_schema::<BuildSqliteIndexInput>,
    output: schema::generate_output_schema::<BuildSqliteIndexOutput>,
    run: |call, arguments| run_typed(call, arguments, build_sqlite_index),
    ..ToolSpec::BASE
};

/// Which of the indexed files a portable file contains.
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PortableMode {
    /// All files.
    #[default]
    All,
    /// Files with code.
    Code,
    /// Documents.
    Prose,
    /// Code with its comments.
    ExtractedProse,
    /// Security records.
    Records,
}

impl From<PortableMode> for IndexPart {
    fn from(mode: PortableMode) -> Self {
        match mode {
            PortableMode::All => Self::All,
            PortableMode::Code => Self::Code,
            PortableMode::Prose => Self::Prose,
            PortableMode::ExtractedProse => Self::ExtractedProse,
            PortableMode::Records => Self::Records,
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct BuildSqliteIndexInput {
    /// Only this repository: its path or name. Default: all repositories of the project.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Project; default: the session's.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
    /// Which files to include; default all.
    mode: Option<PortableMode>,
    /// Write only what changed since the existing file was written.
    incremental: Option<bool>,
    /// Leave no free pages in the file; takes longer.
    compact: Option<bool>,
    /// Write `index-code.sqlite` to this folder instead of one file; for mode all or code.
    #[schemars(length(min = 1, max = 4096))]
    code_dir: Option<String>,
    /// Write `index-prose.sqlite` to this folder; for mode all or prose.
    #[schemars(length(min = 1, max = 4096))]
    prose_dir: Option<String>,
    /// Name of the file in the project's folder, or for the operator a path. Default `index.sqlite`.
    #[schemars(length(min = 1, max = 4096))]
    out: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct BuildSqliteIndexOutput {
    /// Path or name of the first file.
    out_path: String,
    /// Which files of the index were requested.
    mode: PortableMode,
    /// The project; null is the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<String>,
    /// Every file that was written.
    files: Vec<PortableFile>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PortableFile {
    /// For the operator its path, else its name in the project's folder.
    path: String,
    /// Which files of the index it contains.
    mode: &'static str,
    /// Number of indexed files in it.
    files: i64,
    /// Number of chunks.
    chunks: i64,
    /// Number of vectors.
    vectors: i64,
    /// Number of files whose chunks this call wrote.
    files_written: u64,
    /// Whether the existing file was updated instead of being rewritten.
    incremental: bool,
    /// Why the file was rewritten although `incremental` was set.
    #[serde(skip_serializing_if = "Option::is_none")]
    fallback: Option<String>,
    /// Size of the file.
    bytes: u64,
    /// SHA-256 of the file, hexadecimal.
    sha256: String,
}

async fn build_sqlite_index(
    call: Call,
    input: BuildSqliteIndexInput,
) -> Result<BuildSqliteIndexOutput, Fault> {
    let project_id = input.project_id.as_deref();
    call.allowed_project(project_id).await?;
    let project = call.project(project_id).await?;
    let root = match &input.repo_path {
        Some(repo) => Some(repository_root(&call, &project, repo).await?),
        None => None,
    };
    let name = match &root {
        Some(root) => {
            repository::list_repositories(&call, &project).await?.into_iter().find(|row| row.root == *root)
        }
        None => None,
    }
    .map(|row| row.name);
    let mut files = Vec::new();
    for (part, target) in target_files(&call, &project, &input, name.as_deref())? {
        let built = write_file(&call, &project, root.as_deref(), part, &target, &input).await?;
        files.push(portable_file(target, part, input.incremental.unwrap_or_default(), built));
    }
    Ok(BuildSqliteIndexOutput {
        out_path: files.first().map(|file| file.path.clone()).unwrap_or_default(),
        mode: input.mode.unwrap_or_default(),
        project_id: project.id().public().map(str::to_owned),
        files,
    })
}

/// The files to write, each with the part of the index that it contains.
fn target_files(
    call: &Call,
    project: &Project,
    input: &BuildSqliteIndexInput,
    repository: Option<&str>,
) -> Result<Vec<(IndexPart, ProjectFile)>, Fault> {
    let part = IndexPart::from(input.mode.unwrap_or_default());
    let folders =
        [("codeDir", IndexPart::Code, &input.code_dir), ("proseDir", IndexPart::Prose, &input.prose_dir)];
    let mut target_files = Vec::new();
    for (field, folder_part, folder) in folders {
        let Some(folder) = folder else { continue };
        if part != IndexPart::All && part != folder_part {
            let message = format!("`{field}` cannot be used with mode `{}`.", part.as_str());
            return Err(Fault::new(ErrorCode::InvalidRequest, message)
                .with_hint("Omit `mode`, or give the folder that belongs to it."));
        }
        let folder = ProjectFile::resolve(call, project, field, Some(folder), "")?;
        target_files.push((folder_part, folder.file(&portable_file_name(folder_part, repository))));
    }
    if target_files.is_empty() {
        let default = portable_file_name(part, repository);
        target_files
            .push((part, ProjectFile::resolve(call, project, "out", input.out.as_deref(), &default)?));
    } else if input.out.is_some() {
        return Err(Fault::new(
            ErrorCode::InvalidRequest,
            "`out` cannot be combined with `codeDir` or `proseDir`.",
        )
        .with_hint("Give `out` for one file, or folders for one file of each mode."));
    }
    Ok(target_files)
}

async fn write_file(
    call: &Call,
    project: &Project,
    root: Option<&str>,
    part: IndexPart,
    target: &ProjectFile,
    input: &BuildSqliteIndexInput,
) -> Result<BuildReport, Fault> {
    let progress = |done: u64, total: u64| {
        let float = |count: u64| u32::try_from(count).map_or(f64::from(u32::MAX), f64::from);
        call.progress.report(ProgressUpdate {
            phase: "write",
            done: float(done),
            total: Some(float(total)),
            message: format!("{done} of {total} files."),
            detail: None,
        });
    };
    let request = BuildRequest {
        store: call.app.store().await?,
        project,
        root,
        part,
        out: &target.path,
        incremental: input.incremental.unwrap_or_default(),
        compact: input.compact.unwrap_or_default(),
        settings: &call.app.config.portable,
        clock: &*call.app.clock,
        cancel: &call.cancel,
        progress: &progress,
    };
    build_portable(&request).await
}

fn portable_file(
    target: ProjectFile,
    part: IndexPart,
    incremental: bool,
    built: BuildReport,
) -> PortableFile {
    PortableFile {
        path: target.display_path,
        mode: part.as_str(),
        files: built.rows.files,
        chunks: built.rows.chunks,
        vectors: built.rows.vectors,
        files_written: built.files_written,
        incremental: incremental && built.fallback.is_none(),
        fallback: built.fallback,
        bytes: built.bytes,
        sha256: built.sha256,
    }
}
