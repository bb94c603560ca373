//! `resources/list`: the project's indexed files, page by page; documents first, because people open those by hand.

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::media::media_type;
use crate::app::Bulkhead;
use crate::tools::spec::typed;
use crate::tools::{Call, Effects, TimeoutClass, ToolSpec, Toolset, repository, schema};
use contract::clock::iso_from_millis;
use contract::{ErrorCode, Fault, Violation};
use store::{Access, ListedFile, Project, ProjectTx, RepositoryRow, files};
use tenancy::Scope;

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "resources/list",
    title: "List resources",
    description: "The indexed files of the caller's project, documents first.",
    toolset: Toolset::Search,
    effects: Effects::READS,
    scope: Scope::Search,
    bulkhead: Bulkhead::Search,
    timeout: TimeoutClass::Search,
    input: schema::of::<Input>,
    output: schema::of_answer::<Listed>,
    run: |call, arguments| typed(call, arguments, run),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// `nextCursor` of the page before.
    #[schemars(length(max = 16384))]
    cursor: Option<String>,
}

/// One page of indexed files.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Listed {
    /// In a stable order: documents, then all others; each by repository and path.
    pub files: Vec<ListedResource>,
    /// The project they are of, where it is not the default workspace.
    pub project_id: Option<String>,
    /// Where the next page begins; none after the last.
    pub next_cursor: Option<String>,
    /// True on the last page where there are more files than the listing shows.
    pub truncated: bool,
}

/// One indexed file in a list.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ListedResource {
    /// Name of its repository.
    pub repository: String,
    /// Path relative to the repository.
    pub path: String,
    /// Whether it is written for people.
    pub document: bool,
    /// Its media type.
    pub mime_type: String,
    /// Size when it was indexed, in bytes.
    pub size: u64,
    /// When it was changed before it was indexed, UTC.
    pub modified_at: String,
}

async fn run(call: Call, input: Input) -> Result<Listed, Fault> {
    let from = match &input.cursor {
        Some(cursor) => Position::parse(cursor)?,
        None => Position::default(),
    };
    // Where nothing is indexed there is nothing to list, which is no failure.
    let Some(project) = call.project_if_any(None).await? else { return Ok(Listed::default()) };
    let settings = &call.app.config.mcp;
    let wanted = settings.resources_page.max(1).min(settings.resources_max.saturating_sub(from.listed));
    let mut found = after(&call, &project, &from, wanted + 1).await?;
    let more = found.len() > wanted;
    found.truncate(wanted);
    let listed = from.listed + found.len();
    let next = found.last().filter(|_| more && listed < settings.resources_max);
    let next_cursor = next.map(|(documents, file)| {
        Position { others: !documents, repository_id: file.repository_id, listed, path: file.path.clone() }
            .to_cursor()
    });
    let truncated = more && next_cursor.is_none();
    let known = repository::all(&call, &project).await?;
    let files = found.into_iter().filter_map(|(document, file)| resource(&known, document, file)).collect();
    Ok(Listed { files, project_id: project.id().public().map(str::to_owned), next_cursor, truncated })
}

/// At most `limit` files after a position, each with whether it is a document.
async fn after(
    call: &Call,
    project: &Project,
    from: &Position,
    limit: usize,
) -> Result<Vec<(bool, ListedFile)>, Fault> {
    let mut tx = ProjectTx::begin(call.app.store().await?, project, Access::Search).await?;
    let mut found = Vec::new();
    let mut start = (from.repository_id, from.path.as_str());
    for documents in [true, false] {
        if documents && from.others {
            continue;
        }
        let rest = i64::try_from(limit - found.len()).unwrap_or(i64::MAX);
        let rows = files::page(&mut tx, documents, start, rest).await?;
        found.extend(rows.into_iter().map(|file| (documents, file)));
        start = (0, "");
    }
    tx.commit().await?;
    Ok(found)
}

/// None for a repository that was removed meanwhile.
fn resource(known: &[RepositoryRow], document: bool, file: ListedFile) -> Option<ListedResource> {
    Some(ListedResource {
        repository: known.iter().find(|row| row.id == file.repository_id)?.name.clone(),
        document,
        mime_type: media_type(file.language.as_deref()),
        path: file.path,
        size: u64::try_from(file.bytes).unwrap_or(0),
        modified_at: iso_from_millis(file.modified_ns / 1_000_000),
    })
}

/// The file after which a page begins.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Position {
    /// Whether the documents are over.
    others: bool,
    repository_id: i64,
    /// How many files stood before.
    listed: usize,
    path: String,
}

impl Position {
    fn to_cursor(&self) -> String {
        let path = utf8_percent_encode(&self.path, NON_ALPHANUMERIC);
        format!("{}.{}.{}.{path}", u8::from(self.others), self.repository_id, self.listed)
    }

    fn parse(cursor: &str) -> Result<Self, Fault> {
        let read = || {
            let mut parts = cursor.splitn(4, '.');
            let others = match parts.next()? {
                "0" => false,
                "1" => true,
                _ => return None,
            };
            let repository_id = parts.next()?.parse().ok()?;
            let listed = parts.next()?.parse().ok()?;
            let path = percent_decode_str(parts.next()?).decode_utf8().ok()?.into_owned();
            // Postgres takes no NUL in a text.
            (!path.contains('\0')).then_some(Self { others, repository_id, listed, path })
        };
        read().ok_or_else(|| {
            let violation = Violation {
                instance_path: "/cursor".into(),
                schema_path: "#/properties/cursor".into(),
                keyword: "format".into(),
                params: Value::Null,
                message: "The cursor is not one that this server gave.".into(),
                value: None,
            };
            Fault::new(ErrorCode::InvalidRequest, violation.message.clone())
                .with_details(serde_json::to_value([violation]).unwrap_or_default())
                .with_hint("Send `nextCursor` of the page before as it is, or none to begin again.")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_says_where_it_was_and_nothing_else_is_one() {
        for path in ["", "a b/ü.md", "1.2.3", "100%"] {
            let at = Position { others: true, repository_id: 7, listed: 200, path: path.to_owned() };
            assert_eq!(Position::parse(&at.to_cursor()).ok(), Some(at));
        }
        for bad in ["", "x", "2.1.1.a", "0.a.1.a", "0.1.-1.a", "0.1.1", "0.1.1.%ff", "0.1.1.%00"] {
            let fault = Position::parse(bad).unwrap_err();
            assert_eq!(fault.code, ErrorCode::InvalidRequest, "{bad}");
            assert_eq!(fault.details.unwrap()[0]["instancePath"], "/cursor");
        }
    }
}
