//! `resources/list`: lists the project's indexed files in pages; documents first, because people open those by hand.

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::media::media_type;
use crate::app::Bulkhead;
use crate::tools::spec::run_typed;
use crate::tools::{Call, Effects, ToolSpec, Toolset, repository, schema};
use contract::clock::iso_from_millis;
use contract::{ErrorCode, Fault, Violation};
use store::{Access, ListedFile, Project, ProjectTx, RepositoryRow, file_lists};
use tenancy::Scope;

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "resources/list",
    title: "List resources",
    description: "The indexed files of the caller's project, documents first.",
    toolset: Toolset::SEARCH,
    effects: Effects::READS,
    scope: Scope::Search,
    bulkhead: Bulkhead::Search,
    timeout: |limits| limits.search_ms,
    input: schema::generate_schema::<ListResourcesInput>,
    output: schema::generate_output_schema::<ResourcePage>,
    run: |call, arguments| run_typed(call, arguments, list_resources),
    ..ToolSpec::BASE
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListResourcesInput {
    /// `nextCursor` of the previous page.
    #[schemars(length(max = 16384))]
    cursor: Option<String>,
}

/// One page of indexed files.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ResourcePage {
    /// The files in a stable order: documents, then all others; each by repository and path.
    pub files: Vec<ListedResource>,
    /// The project; `None` is the default workspace.
    pub project_id: Option<String>,
    /// Cursor of the next page; `None` on the last.
    pub next_cursor: Option<String>,
    /// True on the last page if the project has more files than `mcp.resources_max`.
    pub truncated: bool,
}

/// One indexed file in a list.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ListedResource {
    /// Name of its repository.
    pub repository: String,
    /// Path relative to the repository.
    pub path: String,
    /// Whether it is a document rather than code.
    pub document: bool,
    /// Its media type.
    pub mime_type: String,
    /// Size when it was indexed, in bytes.
    pub size: u64,
    /// Its modification time when it was indexed, UTC.
    pub modified_at: String,
}

async fn list_resources(call: Call, input: ListResourcesInput) -> Result<ResourcePage, Fault> {
    let from = match &input.cursor {
        Some(cursor) => CursorPosition::parse(cursor)?,
        None => CursorPosition::default(),
    };
    // A workspace that does not exist has no files; that is not an error.
    let Some(project) = call.project_if_any(None).await? else { return Ok(ResourcePage::default()) };
    let settings = &call.app.config.mcp;
    let page_size = settings.resources_page.max(1).min(settings.resources_max.saturating_sub(from.listed));
    let mut page = files_after(&call, &project, &from, page_size + 1).await?;
    let more = page.len() > page_size;
    page.truncate(page_size);
    let listed = from.listed + page.len();
    let next = page.last().filter(|_| more && listed < settings.resources_max);
    let next_cursor = next.map(|(documents, file)| {
        CursorPosition {
            past_documents: !documents,
            repository_id: file.repository_id,
            listed,
            path: file.path.clone(),
        }
        .to_cursor()
    });
    let truncated = more && next_cursor.is_none();
    let known = repository::list_repositories(&call, &project).await?;
    let files =
        page.into_iter().filter_map(|(document, file)| listed_resource(&known, document, file)).collect();
    Ok(ResourcePage { files, project_id: project.id().public().map(str::to_owned), next_cursor, truncated })
}

/// At most `limit` files after a position, each with whether it is a document.
async fn files_after(
    call: &Call,
    project: &Project,
    from: &CursorPosition,
    limit: usize,
) -> Result<Vec<(bool, ListedFile)>, Fault> {
    let mut tx = ProjectTx::begin(call.app.store().await?, project, Access::Search).await?;
    let mut page = Vec::new();
    let mut start = (from.repository_id, from.path.as_str());
    for documents in [true, false] {
        if documents && from.past_documents {
            continue;
        }
        let rest = i64::try_from(limit - page.len()).unwrap_or(i64::MAX);
        let rows = file_lists::page(&mut tx, documents, start, rest).await?;
        page.extend(rows.into_iter().map(|file| (documents, file)));
        start = (0, "");
    }
    tx.commit().await?;
    Ok(page)
}

/// The list entry of a file; `None` if its repository was removed since the file was read.
fn listed_resource(known: &[RepositoryRow], document: bool, file: ListedFile) -> Option<ListedResource> {
    let repository = known.iter().find(|row| row.id == file.repository_id)?;
    // The files of a commit have no time of their own.
    let modified_ms = match repository.is_remote() || repository.is_archive() {
        true => repository.indexed_ms.unwrap_or_default(),
        false => file.modified_ns / 1_000_000,
    };
    Some(ListedResource {
        repository: repository.name.clone(),
        document,
        mime_type: media_type(file.language.as_deref()),
        path: file.path,
        size: u64::try_from(file.bytes).unwrap_or(0),
        modified_at: iso_from_millis(modified_ms),
    })
}

/// The last file of the previous page; encoded as the cursor.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct CursorPosition {
    /// `true` if all documents were listed.
    past_documents: bool,
    repository_id: i64,
    /// Number of files on all previous pages.
    listed: usize,
    path: String,
}

impl CursorPosition {
    fn to_cursor(&self) -> String {
        let path = utf8_percent_encode(&self.path, NON_ALPHANUMERIC);
        format!("{}.{}.{}.{path}", u8::from(self.past_documents), self.repository_id, self.listed)
    }

    fn parse(cursor: &str) -> Result<Self, Fault> {
        let read = || {
            let mut parts = cursor.splitn(4, '.');
            let past_documents = match parts.next()? {
                "0" => false,
                "1" => true,
                _ => return None,
            };
            let repository_id = parts.next()?.parse().ok()?;
            let listed = parts.next()?.parse().ok()?;
            let path = percent_decode_str(parts.next()?).decode_utf8().ok()?.into_owned();
            // Postgres does not accept NUL in a text.
            (!path.contains('\0')).then_some(Self { past_documents, repository_id, listed, path })
        };
        read().ok_or_else(|| {
            let violation = Violation {
                instance_path: "/cursor".into(),
                schema_path: "#/properties/cursor".into(),
                keyword: "format".into(),
                params: Value::Null,
                message: "The cursor is malformed.".into(),
                value: None,
            };
            Fault::new(ErrorCode::InvalidRequest, violation.message.clone())
                .with_details(serde_json::to_value([violation]).unwrap_or_default())
                .with_hint("Send `nextCursor` of the previous page unchanged, or omit it to start over.")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_survive_a_round_trip_and_others_are_refused() {
        for path in ["", "a b/ü.md", "1.2.3", "100%"] {
            let at =
                CursorPosition { past_documents: true, repository_id: 7, listed: 200, path: path.to_owned() };
            assert_eq!(CursorPosition::parse(&at.to_cursor()).ok(), Some(at));
        }
        for bad in ["", "x", "2.1.1.a", "0.a.1.a", "0.1.-1.a", "0.1.1", "0.1.1.%ff", "0.1.1.%00"] {
            let fault = CursorPosition::parse(bad).unwrap_err();
            assert_eq!(fault.code, ErrorCode::InvalidRequest, "{bad}");
            assert_eq!(fault.details.unwrap()[0]["instancePath"], "/cursor");
        }
    }
}
