//! `prompts/list` and `prompts/get`.

use rmcp::ErrorData;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage, Role,
};
use serde_json::{Value, json};

use super::browse::{BrowseRequest, ParameterViolation, invalid_parameter};
use contract::echo;
use gate::app::App;
use gate::module::Modules;
use gate::tools::browse::{RenderedPrompt, is_open_to};
use gate::tools::schema::nearest_name;
use gate::tools::{Caller, ToolSpec};

/// Returns the prompts that the caller may use.
pub(super) fn list(app: &App, caller: &Caller) -> ListPromptsResult {
    let open = app.modules.prompts().filter(|prompt| is_open_to(prompt, app, caller));
    ListPromptsResult::with_all_items(open.map(describe).collect())
}

/// Renders a prompt with the user's arguments.
pub(super) async fn get(
    request: BrowseRequest<'_>,
    params: GetPromptRequestParams,
) -> Result<GetPromptResult, ErrorData> {
    let prompt = find(request.app.modules, &params.name, "name")?;
    let RenderedPrompt { text } = request.run(prompt, params.arguments).await?;
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)])
        .with_description(prompt.description))
}

/// Finds a prompt by name; `parameter` is the path of the name in the request.
pub(super) fn find(modules: &Modules, name: &str, parameter: &str) -> Result<&'static ToolSpec, ErrorData> {
    modules.prompts().find(|prompt| prompt.name == name).ok_or_else(|| {
        let known = modules.prompts().map(|prompt| prompt.name);
        unknown(parameter, "prompt", name, known)
    })
}

/// Returns the error for an unknown name; `parameter` is its path in the request.
pub(super) fn unknown<'a>(
    parameter: &str,
    kind: &str,
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> ErrorData {
    let allowed: Vec<&str> = known.clone().collect();
    let message = match nearest_name(name, known) {
        Some(nearest) => format!("Unknown {kind}; did you mean `{nearest}`?"),
        None => format!("Unknown {kind}; available: {}.", allowed.join(", ")),
    };
    let value = Some(format!("`{}`", echo(name)));
    invalid_parameter(
        parameter,
        "enum",
        ParameterViolation { params: json!({ "allowedValues": allowed }), message, value },
    )
}

/// Returns the arguments of a prompt, from its input schema.
pub(super) fn arguments(prompt: &ToolSpec) -> Vec<PromptArgument> {
    let input = (prompt.input)();
    let required = |name: &str| {
        input.get("required").and_then(Value::as_array).is_some_and(|names| names.iter().any(|n| n == name))
    };
    let fields = input.get("properties").and_then(Value::as_object).into_iter().flatten();
    fields
        .map(|(name, field)| {
            let description = field.get("description").and_then(Value::as_str).unwrap_or_default();
            PromptArgument::new(name).with_description(description).with_required(required(name))
        })
        .collect()
}

fn describe(prompt: &ToolSpec) -> Prompt {
    Prompt::new(prompt.name, Some(prompt.description), Some(arguments(prompt))).with_title(prompt.title)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::TEST_MODULES;

    #[test]
    fn every_prompt_is_described_and_so_are_its_arguments() {
        for prompt in TEST_MODULES.gate().prompts().map(describe) {
            assert!(prompt.title.is_some() && prompt.description.is_some(), "{prompt:?}");
            let arguments = prompt.arguments.unwrap();
            assert!(
                arguments.iter().all(|argument| argument.description.as_ref().is_some_and(|d| !d.is_empty()))
            );
            assert_eq!(arguments.iter().filter(|argument| argument.required == Some(true)).count(), 1);
        }
    }
}
