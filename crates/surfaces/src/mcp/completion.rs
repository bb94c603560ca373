//! `completion/complete`: completes arguments of resource templates and prompts.

use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference};
use serde::Serialize;

use super::browse::BrowseRequest;
use super::prompts;
use super::uri::{INSTRUCTION_TEMPLATE, SYMBOL_TEMPLATE, TEMPLATE, TEMPLATE_WITH_PROJECT};
use gate::module::Modules;
use gate::tools::browse::{COMPLETE, COMPLETE_INSTRUCTION, Completions};

/// Arguments that can be completed; the others are free text.
const COMPLETABLE: &[&str] = &["project", "repository", "path", "id"];
/// The completable arguments of files.
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
    let known = arguments_of(request.app.modules, &params.r#ref)?;
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

/// Returns the names of the arguments of a template or prompt.
fn arguments_of(modules: &Modules, reference: &Reference) -> Result<Vec<String>, ErrorData> {
    if let Some(name) = reference.as_prompt_name() {
        let prompt = prompts::find(modules, name, "ref/name")?;
        return Ok(prompts::arguments(prompt).into_iter().map(|argument| argument.name).collect());
    }
    let uri = reference.as_resource_uri().unwrap_or_default();
    let of_modules = modules.resources().flat_map(|kind| kind.templates);
    let known: &[&str] = match uri {
        TEMPLATE | TEMPLATE_WITH_PROJECT => OF_FILES,
        SYMBOL_TEMPLATE => &["repository", "symbol"],
        INSTRUCTION_TEMPLATE => &["id", "project"],
        _ => {
            let found = of_modules.clone().find(|template| template.uri == uri);
            found.map(|template| template.arguments).ok_or_else(|| {
                let ours = [TEMPLATE, TEMPLATE_WITH_PROJECT, SYMBOL_TEMPLATE, INSTRUCTION_TEMPLATE];
                let known = ours.into_iter().chain(of_modules.map(|template| template.uri));
                prompts::unknown("ref/uri", "template", uri, known)
            })?
        }
    };
    Ok(known.iter().map(|&name| name.to_owned()).collect())
}
