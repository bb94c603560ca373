//! `prompts/list` and `prompts/get`.

use rmcp::ErrorData;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage, Role,
};
use serde_json::{Value, json};

use super::browse::{Asked, Broken, broken};
use crate::tools::browse::{PROMPTS, Rendered, is_open_to};
use crate::tools::schema::nearest;
use crate::tools::{Caller, ToolSpec};
use contract::echo;

/// The prompts whose tools the caller sees.
pub(super) fn list(caller: &Caller) -> ListPromptsResult {
    let open = PROMPTS.iter().filter(|prompt| is_open_to(prompt, caller));
    ListPromptsResult::with_all_items(open.map(|prompt| described(prompt)).collect())
}

/// One prompt with the user's arguments in it.
pub(super) async fn get(
    asked: Asked<'_>,
    params: GetPromptRequestParams,
) -> Result<GetPromptResult, ErrorData> {
    let prompt = find(&params.name, "name")?;
    let Rendered { text } = asked.run(prompt, params.arguments).await?;
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)])
        .with_description(prompt.description))
}

/// The prompt of that name; `parameter` is where the name stands in the request.
pub(super) fn find(name: &str, parameter: &str) -> Result<&'static ToolSpec, ErrorData> {
    PROMPTS.iter().copied().find(|prompt| prompt.name == name).ok_or_else(|| {
        let known = PROMPTS.iter().map(|prompt| prompt.name);
        unknown(parameter, "prompt", name, known)
    })
}

/// The refusal of a name that does not exist; `parameter` is where it stands in the request.
pub(super) fn unknown<'a>(
    parameter: &str,
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> ErrorData {
    let allowed: Vec<&str> = known.clone().collect();
    let message = match nearest(name, known) {
        Some(nearest) => format!("Unknown {what}; did you mean `{nearest}`?"),
        None => format!("Unknown {what}; there are {}.", allowed.join(", ")),
    };
    let value = Some(format!("`{}`", echo(name)));
    broken(parameter, "enum", Broken { params: json!({ "allowedValues": allowed }), message, value })
}

/// The arguments of a prompt, as its input has them.
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

fn described(prompt: &ToolSpec) -> Prompt {
    Prompt::new(prompt.name, Some(prompt.description), Some(arguments(prompt))).with_title(prompt.title)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Surface;

    #[test]
    fn every_prompt_is_described_and_so_are_its_arguments() {
        let listed = list(&Caller::local(Surface::Stdio)).prompts;
        assert_eq!(listed.len(), PROMPTS.len());
        for prompt in listed {
            assert!(prompt.title.is_some() && prompt.description.is_some(), "{prompt:?}");
            let arguments = prompt.arguments.unwrap();
            assert!(
                arguments.iter().all(|argument| argument.description.as_ref().is_some_and(|d| !d.is_empty()))
            );
            assert_eq!(arguments.iter().filter(|argument| argument.required == Some(true)).count(), 1);
        }
    }
}
