//! `resources/list`, `resources/templates/list` and `resources/read`: indexed files by URI.

use rmcp::ErrorData;
use rmcp::model::{
    Annotations, ListResourceTemplatesResult, ListResourcesResult, MetaObject, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::browse::{Asked, Broken, broken};
use super::uri::{ResourceUri, TEMPLATE, TEMPLATE_WITH_PROJECT};
use crate::tools::Caller;
use crate::tools::browse::{FileText, LIST_FILES, Listed, ListedResource, READ_FILE, is_open_to};
use contract::ECHO_CHARS_MAX;

/// One page of files; empty where the caller may not search, as its list of tools is.
pub(super) async fn list(
    asked: Asked<'_>,
    page: Option<PaginatedRequestParams>,
) -> Result<ListResourcesResult, ErrorData> {
    if !is_open_to(LIST_FILES, &asked.caller) {
        return Ok(ListResourcesResult::default());
    }
    let cursor = page.and_then(|page| page.cursor);
    let listed: Listed = asked.run(LIST_FILES, After { cursor }).await?;
    let project = listed.project_id.as_deref();
    let resources = listed.files.into_iter().map(|file| resource(file, project)).collect();
    let mut result = ListResourcesResult::with_all_items(resources);
    result.next_cursor = listed.next_cursor;
    result.meta = listed.truncated.then(|| {
        meta(&Cut {
            truncated: true,
            hint: "More files are indexed: use the templates and completion, or `search`.",
        })
    });
    Ok(result)
}

/// How files are called that no list shows.
pub(super) fn templates(caller: &Caller) -> ListResourceTemplatesResult {
    if !is_open_to(READ_FILE, caller) {
        return ListResourceTemplatesResult::default();
    }
    let file = ResourceTemplate::new(TEMPLATE, "file").with_title("Indexed file").with_description(
        "A file of an indexed repository as it is now, secrets redacted: `repository` as `workspace_status` names it, `path` as \
         search hits give it in `file`.",
    );
    let in_project = ResourceTemplate::new(TEMPLATE_WITH_PROJECT, "project_file")
        .with_title("Indexed file of a project")
        .with_description("The same in the project (isolated workspace) that `project` names.");
    ListResourceTemplatesResult::with_all_items(vec![file, in_project])
}

/// The text of one file.
pub(super) async fn read(
    asked: Asked<'_>,
    params: ReadResourceRequestParams,
) -> Result<ReadResourceResult, ErrorData> {
    let ResourceUri { repository, path, project } = ResourceUri::parse(&params.uri).map_err(|wrong| {
        let message = format!("{wrong} Resources are {TEMPLATE_WITH_PROJECT}.");
        broken(
            "uri",
            "format",
            Broken { params: json!({ "format": TEMPLATE_WITH_PROJECT }), message, value: None },
        )
    })?;
    let wanted = Wanted { repository, path, project_id: project };
    let file: FileText = asked.run(READ_FILE, &wanted).await.map_err(|error| about(error, &params.uri))?;
    let known = Known {
        repo: &file.repository,
        content_hash: &file.content_hash,
        changed_since_indexed: file.changed_since_indexed,
        truncated: file.next_line.is_some(),
        next_line: file.next_line,
        hint: file.next_line.map(|line| format!("Read on with `show_file`, startLine {line}.")),
    };
    let contents =
        ResourceContents::text(file.text, params.uri).with_mime_type(file.mime_type).with_meta(meta(&known));
    Ok(ReadResourceResult::new(vec![contents]))
}

#[derive(Serialize)]
struct After {
    cursor: Option<String>,
}

#[derive(Serialize)]
struct Wanted {
    repository: String,
    path: String,
    project_id: Option<String>,
}

/// `_meta` of the last page of a listing that stops before the end.
#[derive(Serialize)]
struct Cut {
    truncated: bool,
    hint: &'static str,
}

/// `_meta` of a file's text.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Known<'a> {
    repo: &'a str,
    content_hash: &'a str,
    changed_since_indexed: bool,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

fn meta(facts: &impl Serialize) -> MetaObject {
    match serde_json::to_value(facts) {
        Ok(Value::Object(facts)) => MetaObject(facts),
        _ => MetaObject::default(),
    }
}

/// The protocol's errors of this method name the resource.
fn about(mut error: ErrorData, uri: &str) -> ErrorData {
    // Of a long one the message quotes a part.
    let short = uri.chars().nth(ECHO_CHARS_MAX).is_none();
    if let Some(Value::Object(data)) = error.data.as_mut().filter(|_| short) {
        data.insert("uri".to_owned(), Value::from(uri));
    }
    error
}

fn resource(file: ListedResource, project: Option<&str>) -> Resource {
    let title = format!("{} ({})", file.path, file.repository);
    let mut annotations = Annotations::default().with_priority(priority(&file));
    annotations.last_modified = Some(file.modified_at);
    let uri =
        ResourceUri { repository: file.repository, path: file.path, project: project.map(str::to_owned) };
    Resource::new(uri.to_string(), uri.path)
        .with_title(title)
        .with_mime_type(file.mime_type)
        .with_size(file.size)
        .with_annotations(annotations)
}

/// A repository's own introduction first, then what is written for people.
fn priority(file: &ListedResource) -> f32 {
    match file.document {
        true if file.path.to_lowercase().starts_with("readme") => 1.0,
        true => 0.75,
        false => 0.25,
    }
}
