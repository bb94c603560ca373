//! `resources/list`, `resources/templates/list` and `resources/read`: indexed files, symbols and the resources of modules by URI.

use rmcp::ErrorData;
use rmcp::model::{
    Annotations, ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::browse::{BrowseRequest, ParameterViolation, invalid_parameter};
use super::text::result_text;
use super::uri::{ResourceUri, SYMBOL_TEMPLATE, TEMPLATE, TEMPLATE_WITH_PROJECT, parse_symbol};
use super::{module_resources, wire};
use gate::app::App;
use gate::tools::Caller;
use gate::tools::browse::{
    FileText, LIST_FILES, ListedResource, READ_FILE, READ_SYMBOL, ResourcePage, is_open_to,
};

/// Returns one page of files; empty if the caller may not search.
pub(super) async fn list(
    request: BrowseRequest<'_>,
    params: Option<PaginatedRequestParams>,
) -> Result<ListResourcesResult, ErrorData> {
    if !is_open_to(LIST_FILES, request.app, &request.caller) {
        return Ok(ListResourcesResult::default());
    }
    let cursor = params.and_then(|params| params.cursor);
    let listed: ResourcePage = request.run(LIST_FILES, ListFilesArguments { cursor }).await?;
    let project = listed.project_id.as_deref();
    let resources = listed.files.into_iter().map(|file| to_resource(file, project)).collect();
    let mut result = ListResourcesResult::with_all_items(resources);
    result.next_cursor = listed.next_cursor;
    result.meta = listed.truncated.then(|| {
        wire::to_meta(&TruncatedListMeta {
            truncated: true,
            hint: "The list is truncated: to reach other files, complete the URI templates or call `search`.",
        })
    });
    Ok(result)
}

/// Returns the URI templates, which also cover files that the list omits.
pub(super) fn templates(app: &App, caller: &Caller) -> ListResourceTemplatesResult {
    let mut templates = Vec::new();
    if is_open_to(READ_FILE, app, caller) {
        templates.extend(file_templates());
    }
    templates.extend(module_resources::templates(app, caller));
    ListResourceTemplatesResult::with_all_items(templates)
}

fn file_templates() -> Vec<ResourceTemplate> {
    let file = ResourceTemplate::new(TEMPLATE, "file").with_title("Indexed file").with_description(
        "The current content of a file in an indexed repository, with secrets redacted: `repository` as `workspace_status` names \
         it, `path` as in the field `file` of search hits.",
    );
    let in_project = ResourceTemplate::new(TEMPLATE_WITH_PROJECT, "project_file")
        .with_title("Indexed file of a project")
        .with_description("The same for a file of the project named by `project`.");
    let symbol = ResourceTemplate::new(SYMBOL_TEMPLATE, "symbol").with_title("Symbol").with_description(
        "Where a symbol is defined and used, as text: `symbol` is a name like `Context.json` or `src/context.ts:Context.json`.",
    );
    vec![file, in_project, symbol]
}

/// Reads where a symbol is defined and used.
async fn read_symbol(
    request: BrowseRequest<'_>,
    uri: String,
    (repository, symbol): (String, String),
) -> Result<ReadResourceResult, ErrorData> {
    let arguments = json!({ "symbol": symbol, "repoPath": repository });
    let found: Value =
        request.run(READ_SYMBOL, arguments).await.map_err(|error| wire::with_uri(error, &uri))?;
    let contents = ResourceContents::text(result_text(&found), uri).with_mime_type("text/plain");
    Ok(ReadResourceResult::new(vec![contents]))
}

/// Reads the text of one file, the uses of a symbol, or a resource of a module.
pub(super) async fn read(
    request: BrowseRequest<'_>,
    params: ReadResourceRequestParams,
) -> Result<ReadResourceResult, ErrorData> {
    let malformed = |reason: &str, template: &str| {
        let message = format!("{reason} Resource URIs have the form {template}.");
        let violation = ParameterViolation { params: json!({ "format": template }), message, value: None };
        invalid_parameter("uri", "format", violation)
    };
    if let Some(parsed) = parse_symbol(&params.uri) {
        let named = parsed.map_err(|reason| malformed(reason, SYMBOL_TEMPLATE))?;
        return read_symbol(request, params.uri, named).await;
    }
    if let Some((kind, rest)) = module_resources::kind_of(request.app.modules, &params.uri) {
        let template = kind.templates.last().map_or(kind.scheme, |template| template.uri);
        let named = (kind.parse)(rest).map_err(|reason| malformed(reason, template))?;
        return module_resources::read(request, kind, named, params.uri).await;
    }
    let ResourceUri { repository, path, project } =
        ResourceUri::parse(&params.uri).map_err(|reason| malformed(reason, TEMPLATE_WITH_PROJECT))?;
    let arguments = ReadFileArguments { repository, path, project_id: project };
    let file: FileText =
        request.run(READ_FILE, &arguments).await.map_err(|error| wire::with_uri(error, &params.uri))?;
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
        .with_meta(wire::to_meta(&meta));
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

/// Returns the priority of a file: READMEs in the root first, then other documents, then code.
fn priority(file: &ListedResource) -> f32 {
    match file.document {
        true if !file.path.contains('/') && file.path.to_lowercase().starts_with("readme") => 1.0,
        true => 0.75,
        false => 0.25,
    }
}
