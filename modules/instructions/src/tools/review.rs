//! `prompt/review`: looks for secrets, vague words and dangerous phrases in a prompt.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::spec::reading;
use crate::catalog::{Catalog, Document};
use contract::{ErrorCode, Fault};
use gate::tools::for_modules::{ProjectIdArg, run_typed};
use gate::tools::{Call, ToolSpec, schema};
use instructions::review::{Criteria, PROMPT_BYTES_MAX, Review, review};

pub(super) const TOOL: ToolSpec = ToolSpec {
    accepts_nul: true,
    ..reading(
        (
            "prompt_review",
            "prompt/review",
            "Review a prompt",
            "Check a prompt or an instruction before it is used: secrets, vague words, dangerous commands, phrases that override rules.",
        ),
        schema::generate_schema::<Input>,
        schema::generate_output_schema::<Output>,
        |call, arguments| run_typed(call, arguments, review_prompt),
    )
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The text, at most 10,240 bytes.
    prompt: String,
    /// Project, whose criteria apply; default: the session's.
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(transparent)]
struct Output(Review);

async fn review_prompt(call: Call, input: Input) -> Result<Output, Fault> {
    let bytes = input.prompt.len();
    if bytes > PROMPT_BYTES_MAX {
        let message = format!("The prompt has {bytes} bytes; at most {PROMPT_BYTES_MAX} are reviewed.");
        return Err(Fault::new(ErrorCode::InvalidRequest, message)
            .with_details(json!({ "bytes": bytes, "max": PROMPT_BYTES_MAX }))
            .with_hint("Review it in parts."));
    }
    let project = call.project(input.project_id.as_deref()).await?;
    let mut catalog = Catalog::open(call.app.store().await?, &project).await?;
    let text = catalog.document(Document::Criteria).await?;
    catalog.close().await?;
    let reviewed = gate::app::blocking(move || {
        let criteria = match text {
            None => Criteria::default(),
            Some(text) => Criteria::with_project(&text).map_err(|error| {
                Fault::internal("The review criteria of the catalog are malformed.", error)
            })?,
        };
        Ok(review(&criteria, &input.prompt))
    });
    Ok(Output(reviewed.await?))
}
