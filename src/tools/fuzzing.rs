//! What fuzzing drives here: arguments of calls.

use serde_json::Value;

use super::list::{LIST, Toolbox, find};
use contract::Refusal;

/// Calls to begin with: a tool by its place in the list, and arguments.
pub(crate) fn calls() -> Vec<Vec<u8>> {
    let searching = r#"{"query": "retry", "mode": "code", "top": 5.0, "path": ["src/**"], "meta": {"a": 1}, "project_id": "a", "context": null}"#;
    let mut calls = vec![[&[0], searching.as_bytes()].concat()];
    for at in 0..u8::try_from(LIST.len()).unwrap_or(u8::MAX) {
        calls.push(
            [
                &[at],
                br#"{"repoPath": "/a", "path": "b", "payload": [], "source": "sarif", "recordId": "0"}"#
                    .as_slice(),
            ]
            .concat(),
        );
    }
    calls
}

/// Arguments: what is taken is taken again as the same, and what is refused is said in bounded words.
pub(crate) fn arguments(data: &[u8]) {
    let [tool, text @ ..] = data else { return };
    let Ok(value) = serde_json::from_slice::<Value>(text) else { return };
    drop(shaped(LIST[usize::from(*tool) % LIST.len()].name, value));
}

/// What a call of a tool with these arguments would be told before it runs; none for a tool that there is not.
pub(crate) fn shaped(tool: &str, arguments: Value) -> Option<String> {
    let (spec, size) = (find(tool)?, arguments.to_string().len());
    let toolbox = Toolbox::standard();
    Some(match toolbox.shaped(spec, arguments) {
        Ok(taken) => {
            let again = toolbox.shaped(spec, taken.clone());
            assert!(again.is_ok_and(|again| again == taken), "{taken} is not taken again");
            String::new()
        }
        Err(Refusal::InvalidArguments(violations)) => {
            assert!(!violations.is_empty());
            let told = serde_json::to_string(&violations).unwrap_or_default();
            assert!(told.len() <= 64 * (size + 1024), "{} bytes about arguments of {size}", told.len());
            told
        }
        Err(refusal) => format!("{refusal:?}"),
    })
}
