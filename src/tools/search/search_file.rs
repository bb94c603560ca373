//! `search` of one portable file, for the command line: no database is started, and no project is asked.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::portable;
use super::search::{self, Input};
use crate::app::Bulkhead;
use crate::tools::spec::typed;
use crate::tools::standing::EVERYTHING;
use crate::tools::{Call, Effects, TimeoutClass, ToolSpec, Toolset, schema};
use contract::{ErrorCode, Fault};
use engine::search::{SearchPayload, present};
use store::portable::WordsBy;
use tenancy::Scope;

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "portable/search",
    title: "Search a portable file",
    description: "`search` of one portable index file.",
    toolset: Toolset::Search,
    effects: Effects::READS,
    scope: Scope::Search,
    bulkhead: Bulkhead::Search,
    timeout: TimeoutClass::Search,
    input,
    output: schema::of_answer::<SearchPayload>,
    run: |call, arguments| {
        let file = arguments.get("file").and_then(Value::as_str).unwrap_or_default().into();
        let arguments = without_file(arguments);
        typed(call, arguments, move |call, input| run(call, file, input))
    },
};

/// The fields of `search`, and the file.
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

async fn run(call: Call, file: PathBuf, mut input: Input) -> Result<SearchPayload, Fault> {
    call.require_operator()?;
    if input.project_id.is_some() {
        return Err(Fault::new(ErrorCode::InvalidRequest, "A portable file is searched without a project.")
            .with_hint("Leave `project_id` out."));
    }
    if input.backend.as_deref() == Some("postgres") {
        return Err(Fault::new(ErrorCode::InvalidRequest, "Postgres does not answer from a file.")
            .with_hint("Backends of a file: sqlite (default), sqlite-fts."));
    }
    let words_by = portable::words_by(input.backend.as_deref(), input.ann)?.unwrap_or(WordsBy::Postings);
    let (output, explain) = (input.output.unwrap_or_default(), input.explain.unwrap_or_default());
    let repository = input.repo_path.take().filter(|name| name != EVERYTHING);
    let max_tokens = input.max_tokens;
    let settings = &call.app.config.search;
    let request = input.request(settings, repository.into_iter().collect())?;
    let answer = portable::ask(&call, file, words_by, request).await?;
    Ok(present(&answer, output, explain, search::budget(&call, max_tokens)))
}
