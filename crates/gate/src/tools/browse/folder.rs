//! `resources/folder`: the indexed files and folders in a folder of a repository.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::Bulkhead;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::search::open_file::require_relative;
use crate::tools::spec::run_typed;
use crate::tools::{Call, Effects, ToolSpec, Toolset, repository, schema};
use contract::{ErrorCode, Fault, echo};
use store::{Access, ProjectTx, files};
use tenancy::Scope;

/// Maximum number of entries in an answer.
const ENTRIES_MAX: i64 = 2000;

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "resources/folder",
    title: "List a folder",
    description: "The indexed files and folders in a folder of a repository.",
    toolset: Toolset::SEARCH,
    effects: Effects::READS,
    scope: Scope::Search,
    bulkhead: Bulkhead::Search,
    timeout: |limits| limits.search_ms,
    input: schema::generate_schema::<FolderInput>,
    output: schema::generate_output_schema::<FolderList>,
    run: |call, arguments| run_typed(call, arguments, list_folder),
    ..ToolSpec::BASE
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FolderInput {
    /// Name of the repository.
    #[schemars(length(min = 1, max = 4096))]
    repository: String,
    /// Path of the folder relative to the repository; omitted: the repository itself.
    #[schemars(length(min = 1, max = 4096))]
    path: Option<String>,
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
}

/// What a folder contains.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct FolderList {
    /// Folders, then files, both by name.
    pub entries: Vec<FolderItem>,
    /// Whether there are more entries than an answer has.
    pub truncated: bool,
}

/// A file or folder in a list.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct FolderItem {
    /// The last component of its path.
    pub name: String,
    /// Indexed files in a folder and below it; absent for a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<i64>,
}

async fn list_folder(call: Call, input: FolderInput) -> Result<FolderList, Fault> {
    let prefix = match &input.path {
        Some(path) => format!("{}/", require_relative(path.trim_end_matches('/'))?),
        None => String::new(),
    };
    let project = call.project(input.project_id.as_deref()).await?;
    let repository = repository::indexed_repository(&call, &project, &input.repository).await?;
    let mut tx = ProjectTx::begin(call.app.store().await?, &project, Access::Search).await?;
    let mut rows = files::folder(&mut tx, repository.id, &prefix, ENTRIES_MAX + 1).await?;
    tx.commit().await?;
    if rows.is_empty()
        && let Some(path) = &input.path
    {
        let message = format!("The index has no folder `{}` in this repository.", echo(path));
        return Err(Fault::new(ErrorCode::NotFound, message));
    }
    let most = usize::try_from(ENTRIES_MAX).unwrap_or(usize::MAX);
    let truncated = rows.len() > most;
    rows.truncate(most);
    let entries = rows.into_iter().map(|row| FolderItem { name: row.name, files: row.files }).collect();
    Ok(FolderList { entries, truncated })
}
