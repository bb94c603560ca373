//! `completion/complete`: completes arguments of resource templates and prompts.

use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference};
use serde::Serialize;

use super::browse::BrowseRequest;
use super::prompts;
use super::uri::{SYMBOL_TEMPLATE, TEMPLATE, TEMPLATE_WITH_PROJECT};
use gate::module::Modules;
use gate::tools::ToolSpec;
use gate::tools::browse::{COMPLETE, Completions};

/// Arguments that can be completed everywhere; most others are free text. They are also the arguments of files.
const COMPLETABLE: &[&str] = &["project", "repository", "path"];

#[derive(Serialize)]
struct CompletionArguments {
    /// Name of the argument to complete.
    #[serde(rename = "kind")]
    argument: String,
    value: String,
    repository: Option<String>,
    project_id: Option<String>,
}

/// The arguments of an operation that completes the first argument of a module's template.
#[derive(Serialize)]
struct FirstArguments {
    value: String,
    project_id: Option<String>,
}

/// Suggests values for an argument, given its prefix and the other arguments.
pub(super) async fn complete(
    request: BrowseRequest<'_>,
    params: CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    let argument = params.argument.name;
    let Referenced { arguments: known, completes_first } =
        find_reference(request.app.modules, &params.r#ref)?;
    if !known.contains(&argument) {
        return Err(prompts::unknown(
            "argument/name",
            "argument",
            &argument,
            known.iter().map(String::as_str),
        ));
    }
    let of_module = completes_first.filter(|_| known.first() == Some(&argument));
    if of_module.is_none() && !COMPLETABLE.contains(&argument.as_str()) {
        return Ok(CompleteResult::default());
    }
    let mut others = params.context.and_then(|context| context.arguments).unwrap_or_default();
    let mut other = |name: &str| others.remove(name).filter(|value| !value.is_empty() && argument != name);
    let (repository, project_id) = (other("repository"), other("project"));
    let value = params.argument.value;
    let Completions { values, total } = match of_module {
        Some(operation) => request.run(operation, FirstArguments { value, project_id }).await?,
        None => {
            request.run(COMPLETE, CompletionArguments { argument, value, repository, project_id }).await?
        }
    };
    let more = total > values.len() as u64;
    let total = u32::try_from(total).ok();
    Ok(CompleteResult::new(CompletionInfo::with_pagination(values, total, more).unwrap_or_default()))
}

/// A template or prompt, as a client names it.
struct Referenced {
    /// The names of its arguments.
    arguments: Vec<String>,
    /// The operation that completes the first of them.
    completes_first: Option<&'static ToolSpec>,
}

impl Referenced {
    fn new(arguments: &[&str], completes_first: Option<&'static ToolSpec>) -> Self {
        Self { arguments: arguments.iter().map(|&name| name.to_owned()).collect(), completes_first }
    }
}

/// Finds the template or prompt that a client names.
fn find_reference(modules: &Modules, reference: &Reference) -> Result<Referenced, ErrorData> {
    if let Some(name) = reference.as_prompt_name() {
        let prompt = prompts::find(modules, name, "ref/name")?;
        let arguments = prompts::arguments(prompt).into_iter().map(|argument| argument.name).collect();
        return Ok(Referenced { arguments, completes_first: None });
    }
    let uri = reference.as_resource_uri().unwrap_or_default();
    match uri {
        TEMPLATE | TEMPLATE_WITH_PROJECT => return Ok(Referenced::new(COMPLETABLE, None)),
        SYMBOL_TEMPLATE => return Ok(Referenced::new(&["repository", "symbol"], None)),
        _ => {}
    }
    let of_modules =
        modules.resources().flat_map(|kind| kind.templates.iter().map(move |template| (kind, template)));
    let found = of_modules.clone().find(|(_, template)| template.uri == uri);
    found.map(|(kind, template)| Referenced::new(template.arguments, kind.complete)).ok_or_else(|| {
        let ours = [TEMPLATE, TEMPLATE_WITH_PROJECT, SYMBOL_TEMPLATE];
        let known = ours.into_iter().chain(of_modules.map(|(_, template)| template.uri));
        prompts::unknown("ref/uri", "template", uri, known)
    })
}
