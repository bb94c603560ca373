//! `completion/complete`: completes arguments of resource templates and prompts.

use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference};
use serde::Serialize;

use super::browse::BrowseRequest;
use super::prompts;
use super::uri::{INSTRUCTION_TEMPLATE, SYMBOL_TEMPLATE, TEMPLATE, TEMPLATE_WITH_PROJECT};
use crate::tools::browse::{COMPLETE, COMPLETE_INSTRUCTION, Completions};

/// Arguments that can be completed; the others are free text.
const COMPLETABLE: &[&str] = &["project", "repository", "path", "id"];
/// Those of a file.
const OF_FILES: &[&str] = &["project", "repository", "path"];

#[derive(Serialize)]
struct CompletionArguments {
    /// Name of the argument to complete.
    #[serde(rename = "kind")]
    argument: String,
    value: String,
    repository: Option<String>,
    project_id: Option<String>,
}

#[derive(Serialize)]
struct IdArguments {
    value: String,
    project_id: Option<String>,
}

/// Suggests values for an argument, given its prefix and the other arguments.
pub(super) async fn complete(
    request: BrowseRequest<'_>,
    params: CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    let argument = params.argument.name;
    let known = arguments_of(&params.r#ref)?;
    if !known.contains(&argument) {
        return Err(prompts::unknown(
            "argument/name",
            "argument",
            &argument,
            known.iter().map(String::as_str),
        ));
    }
    if !COMPLETABLE.contains(&argument.as_str()) {
        return Ok(CompleteResult::default());
    }
    let mut others = params.context.and_then(|context| context.arguments).unwrap_or_default();
    let mut other = |name: &str| others.remove(name).filter(|value| !value.is_empty() && argument != name);
    let (repository, project_id) = (other("repository"), other("project"));
    let is_id = argument == "id";
    let completion_arguments =
        CompletionArguments { argument, value: params.argument.value, repository, project_id };
    let Completions { values, total } = match is_id {
        true => {
            let CompletionArguments { value, project_id, .. } = completion_arguments;
            request.run(COMPLETE_INSTRUCTION, IdArguments { value, project_id }).await?
        }
        false => request.run(COMPLETE, completion_arguments).await?,
    };
    let more = total > values.len() as u64;
    let total = u32::try_from(total).ok();
    Ok(CompleteResult::new(CompletionInfo::with_pagination(values, total, more).unwrap_or_default()))
}

/// The names of the arguments of a template or prompt.
fn arguments_of(reference: &Reference) -> Result<Vec<String>, ErrorData> {
    if let Some(name) = reference.as_prompt_name() {
        let prompt = prompts::find(name, "ref/name")?;
        return Ok(prompts::arguments(prompt).into_iter().map(|argument| argument.name).collect());
    }
    let uri = reference.as_resource_uri().unwrap_or_default();
    let templates = [TEMPLATE, TEMPLATE_WITH_PROJECT, SYMBOL_TEMPLATE, INSTRUCTION_TEMPLATE];
    if uri == SYMBOL_TEMPLATE {
        return Ok(vec!["repository".to_owned(), "symbol".to_owned()]);
    }
    if uri == INSTRUCTION_TEMPLATE {
        return Ok(vec!["id".to_owned(), "project".to_owned()]);
    }
    if !templates.contains(&uri) {
        return Err(prompts::unknown("ref/uri", "template", uri, templates.into_iter()));
    }
    Ok(OF_FILES.iter().map(|name| (*name).to_owned()).collect())
}
