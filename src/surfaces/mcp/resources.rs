//! `resources/list`, `resources/templates/list` and `resources/read`: indexed files by URI.

use rmcp::ErrorData;
use rmcp::model::{
    Annotations, ListResourceTemplatesResult, ListResourcesResult, MetaObject, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::browse::{BrowseRequest, ParameterViolation, invalid_parameter};
use super::uri::{ResourceUri, TEMPLATE, TEMPLATE_WITH_PROJECT};
use crate::tools::Caller;
use crate::tools::browse::{FileText, LIST_FILES, ListedResource, READ_FILE, ResourcePage, is_open_to};
use contract::ECHO_CHARS_MAX;
use contract::config::Config;

/// One page of files; empty if the caller may not search.
pub(super) async fn list(
    request: BrowseRequest<'_>,
    params: Option<PaginatedRequestParams>,
) -> Result<ListResourcesResult, ErrorData> {
    if !is_open_to(LIST_FILES, &request.app.config, &request.caller) {
        return Ok(ListResourcesResult::default());
    }
    let cursor = params.and_then(|params| params.cursor);
    let listed: ResourcePage = request.run(LIST_FILES, ListFilesArguments { cursor }).await?;
    let project = listed.project_id.as_deref();
    let resources = listed.files.into_iter().map(|file| to_resource(file, project)).collect();
    let mut result = ListResourcesResult::with_all_items(resources);
    result.next_cursor = listed.next_cursor;
    result.meta = listed.truncated.then(|| {
        to_meta(&TruncatedListMeta {
            truncated: true,
            hint: "The list is truncated: to reach other files, complete the URI templates or call `search`.",
        })
    });
    Ok(result)
}

/// The URI templates, which also cover files that the list omits.
pub(super) fn templates(config: &Config, caller: &Caller) -> ListResourceTemplatesResult {
    if !is_open_to(READ_FILE, config, caller) {
        return ListResourceTemplatesResult::default();
    }
    let file = ResourceTemplate::new(TEMPLATE, "file").with_title("Indexed file").with_description(
        "The current content of a file in an indexed repository, with secrets redacted: `repository` as `workspace_status` names \
         it, `path` as in the field `file` of search hits.",
    );
    let in_project = ResourceTemplate::new(TEMPLATE_WITH_PROJECT, "project_file")
        .with_title("Indexed file of a project")
        .with_description("The same for a file of the project named by `project`.");
    ListResourceTemplatesResult::with_all_items(vec![file, in_project])
}

/// The text of one file.
pub(super) async fn read(
    request: BrowseRequest<'_>,
    params: ReadResourceRequestParams,
) -> Result<ReadResourceResult, ErrorData> {
    let ResourceUri { repository, path, project } = ResourceUri::parse(&params.uri).map_err(|reason| {
        let message = format!("{reason} Resource URIs have the form {TEMPLATE_WITH_PROJECT}.");
        invalid_parameter(
            "uri",
            "format",
            ParameterViolation { params: json!({ "format": TEMPLATE_WITH_PROJECT }), message, value: None },
        )
    })?;
    let arguments = ReadFileArguments { repository, path, project_id: project };
    let file: FileText =
        request.run(READ_FILE, &arguments).await.map_err(|error| with_uri(error, &params.uri))?;
    let meta = FileMeta {
        repo: &file.repository,
        content_hash: &file.content_hash,
        changed_since_indexed: file.changed_since_indexed,
        truncated: file.next_line.is_some(),
        next_line: file.next_line,
        hint: file.next_line.map(|line| format!("Continue with `show_file`, startLine {line}.")),
    };
    let contents = ResourceContents::text(file.text, params.uri)
        .with_mime_type(file.mime_type)
        .with_meta(to_meta(&meta));
    Ok(ReadResourceResult::new(vec![contents]))
}

#[derive(Serialize)]
struct ListFilesArguments {
    cursor: Option<String>,
}

#[derive(Serialize)]
struct ReadFileArguments {
    repository: String,
    path: String,
    project_id: Option<String>,
}

/// `_meta` of the last page of a truncated list.
#[derive(Serialize)]
struct TruncatedListMeta {
    truncated: bool,
    hint: &'static str,
}

/// `_meta` of a file's text.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FileMeta<'a> {
    repo: &'a str,
    content_hash: &'a str,
    changed_since_indexed: bool,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

fn to_meta(value: &impl Serialize) -> MetaObject {
    match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => MetaObject(fields),
        _ => MetaObject::default(),
    }
}

/// Adds the URI to the error, as the protocol specifies for this method.
fn with_uri(mut error: ErrorData, uri: &str) -> ErrorData {
    // A long URI is not repeated; the message quotes part of it.
    let is_short = uri.chars().nth(ECHO_CHARS_MAX).is_none();
    if let Some(Value::Object(data)) = error.data.as_mut().filter(|_| is_short) {
        data.insert("uri".to_owned(), Value::from(uri));
    }
    error
}

fn to_resource(file: ListedResource, project: Option<&str>) -> Resource {
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

/// READMEs in the root first, then other documents, then code.
fn priority(file: &ListedResource) -> f32 {
    match file.document {
        true if !file.path.contains('/') && file.path.to_lowercase().starts_with("readme") => 1.0,
        true => 0.75,
        false => 0.25,
    }
}
