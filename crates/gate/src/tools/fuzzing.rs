//! Fuzz target: the validation of tool arguments.

use serde_json::Value;

use crate::module::Modules;
use contract::Refusal;

/// Seeds: one byte with the index of a tool in the list, then the arguments as JSON.
pub fn call_seeds(modules: &Modules) -> Vec<Vec<u8>> {
    let searching = r#"{"query": "retry", "mode": "code", "top": 5.0, "path": ["src/**"], "meta": {"a": 1}, "project_id": "a", "context": null}"#;
    let mut calls = vec![[&[0], searching.as_bytes()].concat()];
    for at in 0..u8::try_from(modules.list_of_tools().len()).unwrap_or(u8::MAX) {
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

/// Checks that validation is idempotent, and that the size of the violations is bounded.
pub fn fuzz_arguments(modules: &Modules, data: &[u8]) {
    let tools = modules.list_of_tools();
    let [tool, text @ ..] = data else { return };
    let Ok(value) = serde_json::from_slice::<Value>(text) else { return };
    drop(argument_errors(modules, tools[usize::from(*tool) % tools.len()].name, value));
}

/// The violations that the gate reports for these arguments, as JSON, empty if it accepts them; `None` for an unknown tool.
pub fn argument_errors(modules: &Modules, tool: &str, arguments: Value) -> Option<String> {
    let (spec, size) = (modules.find_tool(tool)?, arguments.to_string().len());
    let toolbox = modules.tools();
    Some(match toolbox.checked_arguments(spec, arguments) {
        Ok(taken) => {
            let again = toolbox.checked_arguments(spec, taken.clone());
            assert!(again.is_ok_and(|again| again == taken), "{taken} is not accepted again");
            String::new()
        }
        Err(Refusal::InvalidArguments(violations)) => {
            assert!(!violations.is_empty());
            let json = serde_json::to_string(&violations).unwrap_or_default();
            assert!(json.len() <= 64 * (size + 1024), "{} bytes about arguments of {size}", json.len());
            json
        }
        Err(refusal) => format!("{refusal:?}"),
    })
}
