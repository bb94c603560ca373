//! `build_sqlite_index`: a project's index as one portable file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::place::Place;
use crate::app::Bulkhead;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::repository::repository;
use crate::tools::spec::typed;
use crate::tools::{Call, Effects, ProgressUpdate, TimeoutClass, ToolSpec, Toolset, repository, schema};
use contract::{ErrorCode, Fault};
use store::Project;
use tenancy::Scope;
use upkeep::portable::{self, Build, Built, Part};

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "build_sqlite_index",
    title: "Build portable index",
    description: "Write the index of a project or repository to one SQLite file (BM25, FTS5, vectors, facts) that `search` with \
        backend sqlite answers from, also offline: `pairofcleats search --sqlite FILE`.",
    toolset: Toolset::Artifacts,
    effects: Effects::WRITES,
    scope: Scope::Index,
    bulkhead: Bulkhead::Index,
    timeout: TimeoutClass::Artifacts,
    input: schema::of::<Input>,
    output: schema::of_answer::<Output>,
    run: |call, arguments| typed(call, arguments, run),
};

/// Which files of the index (T).
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Mode {
    /// All.
    #[default]
    All,
    /// Code.
    Code,
    /// Documents.
    Prose,
    /// Code with comments.
    ExtractedProse,
    /// Records.
    Records,
}

impl From<Mode> for Part {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::All => Self::All,
            Mode::Code => Self::Code,
            Mode::Prose => Self::Prose,
            Mode::ExtractedProse => Self::ExtractedProse,
            Mode::Records => Self::Records,
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Input {
    /// Only this repository: its path or name. Default: all of the project.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Project; omitted: the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
    /// Which files it holds; default all.
    mode: Option<Mode>,
    /// Write only what changed since the file was made.
    incremental: Option<bool>,
    /// Leave no free pages in the file.
    compact: Option<bool>,
    /// Folder of `index-code.sqlite`, in place of one file; for mode all or code.
    #[schemars(length(min = 1, max = 4096))]
    code_dir: Option<String>,
    /// The same of `index-prose.sqlite`, for mode all or prose.
    #[schemars(length(min = 1, max = 4096))]
    prose_dir: Option<String>,
    /// Name of the file in the project's folder; the operator may give a path. Default `index.sqlite`.
    #[schemars(length(min = 1, max = 4096))]
    out: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// The first file.
    out_path: String,
    /// Which files of the index were asked for.
    mode: Mode,
    /// The project; null is the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<String>,
    /// Every file that was written.
    files: Vec<Written>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Written {
    /// Where it is: a path for the operator, else a name in the project's folder.
    path: String,
    /// Which files of the index it holds.
    mode: &'static str,
    /// Files it holds.
    files: i64,
    /// Chunks.
    chunks: i64,
    /// Vectors.
    vectors: i64,
    /// Files whose chunks this call wrote.
    files_written: u64,
    /// Whether the file that was there was brought up to date.
    incremental: bool,
    /// Why it was written anew although `incremental` was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    fallback: Option<String>,
    /// Size.
    bytes: u64,
    /// SHA-256, hex.
    sha256: String,
}

async fn run(call: Call, input: Input) -> Result<Output, Fault> {
    let project_id = input.project_id.as_deref();
    call.allowed_project(project_id).await?;
    let project = call.project(project_id).await?;
    let root = match &input.repo_path {
        Some(repo) => Some(repository(&call, &project, repo).await?),
        None => None,
    };
    let name = match &root {
        Some(root) => repository::all(&call, &project).await?.into_iter().find(|row| row.root == *root),
        None => None,
    }
    .map(|row| row.name);
    let mut files = Vec::new();
    for (part, place) in places(&call, &project, &input, name.as_deref())? {
        let built = write(&call, &project, root.as_deref(), part, &place, &input).await?;
        files.push(written(place, part, input.incremental.unwrap_or_default(), built));
    }
    Ok(Output {
        out_path: files.first().map(|file| file.path.clone()).unwrap_or_default(),
        mode: input.mode.unwrap_or_default(),
        project_id: project.id().public().map(str::to_owned),
        files,
    })
}

/// The files to write.
fn places(
    call: &Call,
    project: &Project,
    input: &Input,
    repository: Option<&str>,
) -> Result<Vec<(Part, Place)>, Fault> {
    let part = Part::from(input.mode.unwrap_or_default());
    let folders = [("codeDir", Part::Code, &input.code_dir), ("proseDir", Part::Prose, &input.prose_dir)];
    let mut places = Vec::new();
    for (field, of, folder) in folders {
        let Some(folder) = folder else { continue };
        if part != Part::All && part != of {
            let message = format!("`{field}` does not go with mode `{}`.", part.as_str());
            return Err(Fault::new(ErrorCode::InvalidRequest, message)
                .with_hint("Leave the mode out, or name the folder of that mode."));
        }
        let folder = Place::of(call, project, field, Some(folder), "")?;
        places.push((of, folder.file(&portable::file_name(of, repository))));
    }
    if places.is_empty() {
        let usual = portable::file_name(part, repository);
        places.push((part, Place::of(call, project, "out", input.out.as_deref(), &usual)?));
    } else if input.out.is_some() {
        return Err(Fault::new(
            ErrorCode::InvalidRequest,
            "`out` is one file, `codeDir` and `proseDir` are folders.",
        )
        .with_hint("Give either `out` or folders."));
    }
    Ok(places)
}

async fn write(
    call: &Call,
    project: &Project,
    root: Option<&str>,
    part: Part,
    place: &Place,
    input: &Input,
) -> Result<Built, Fault> {
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
    let build = Build {
        store: call.app.store().await?,
        project,
        root,
        part,
        out: &place.path,
        incremental: input.incremental.unwrap_or_default(),
        compact: input.compact.unwrap_or_default(),
        settings: &call.app.config.portable,
        clock: &*call.app.clock,
        cancel: &call.cancel,
        progress: &progress,
    };
    portable::build(&build).await
}

fn written(place: Place, part: Part, asked: bool, built: Built) -> Written {
    Written {
        path: place.shown,
        mode: part.as_str(),
        files: built.held.files,
        chunks: built.held.chunks,
        vectors: built.held.vectors,
        files_written: built.files_written,
        incremental: asked && built.fallback.is_none(),
        fallback: built.fallback,
        bytes: built.bytes,
        sha256: built.sha256,
    }
}
