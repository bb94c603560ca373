//! Searches one portable file for the command line, without a database and without a project.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::portable;
use super::search::{self, SearchInput};
use crate::app::Bulkhead;
use crate::tools::search_scope::ALL_REPOSITORIES;
use crate::tools::spec::run_typed;
use crate::tools::{Call, Effects, ToolSpec, Toolset, schema};
use contract::{ErrorCode, Fault};
use engine::search::SearchPayload;
use store::portable::LexicalBackend;
use tenancy::Scope;

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "portable/search",
    title: "Search a portable file",
    description: "`search` of one portable index file.",
    toolset: Toolset::SEARCH,
    effects: Effects::READS,
    scope: Scope::Search,
    bulkhead: Bulkhead::Search,
    timeout: |limits| limits.search_ms,
    input,
    output: schema::generate_output_schema::<SearchPayload>,
    run: |call, arguments| {
        let file = arguments.get("file").and_then(Value::as_str).unwrap_or_default().into();
        let arguments = without_file(arguments);
        run_typed(call, arguments, move |call, input| search_portable_file(call, file, input))
    },
    ..ToolSpec::BASE
};

/// The arguments of `search`, and the file.
fn input() -> Map<String, Value> {
    let mut schema = search::input();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let file = json!({ "type": "string", "minLength": 1, "maxLength": 4096, "description": "Path of the file." });
        properties.insert("file".to_owned(), file);
    }
    schema.insert("required".to_owned(), json!(["file", "query"]));
    schema
}

fn without_file(mut arguments: Value) -> Value {
    if let Value::Object(fields) = &mut arguments {
        fields.shift_remove("file");
    }
    arguments
}

async fn search_portable_file(
    call: Call,
    file: PathBuf,
    mut input: SearchInput,
) -> Result<SearchPayload, Fault> {
    call.require_operator()?;
    input.honour_slashes(&call);
    if input.project_id.is_some() {
        return Err(Fault::new(
            ErrorCode::InvalidRequest,
            "The search of a portable file does not take a project.",
        )
        .with_hint("Omit `project_id`."));
    }
    if input.backend.as_deref() == Some("postgres") {
        return Err(Fault::new(ErrorCode::InvalidRequest, "The backend `postgres` cannot search a file.")
            .with_hint("Backends of a file: sqlite (default), sqlite-fts."));
    }
    let lexical_backend =
        portable::lexical_index(input.backend.as_deref(), input.ann)?.unwrap_or(LexicalBackend::Postings);
    let presentation = input.presentation();
    let repository = input.repo_path.take().filter(|name| name != ALL_REPOSITORIES);
    let settings = &call.app.config.search;
    let request = input.request(settings, repository.into_iter().collect())?;
    let answer = portable::search_portable(&call, file, lexical_backend, request).await?;
    Ok(presentation.present(&call, &answer))
}
