//! `projects`: the workspaces and what they hold.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::output::{BOLD, DIM, styled};
use super::session::{Ran, Session};
use super::text::visible_line;
use crate::tools::Progress;

/// Arguments of `projects`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

/// Runs the command.
pub(super) async fn run(session: &Session) -> Ran {
    let called = session.call("workspace_status", &Map::new(), Progress::default()).await;
    Ok(session.output.answer(&called, render))
}

fn render(result: &Value) -> String {
    let projects = result.get("projects").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if projects.is_empty() {
        return "No projects yet; `pairofcleats index PATH --project ID` makes one.\n".to_owned();
    }
    let mut shown = String::new();
    for project in projects.iter().filter_map(Value::as_object) {
        let id = project.get("project_id").or_else(|| project.get("id")).and_then(Value::as_str);
        let facts = project.iter().filter(|(key, _)| !matches!(key.as_str(), "project_id" | "id"));
        let facts: Vec<String> = facts.filter_map(|(key, value)| fact(key, value)).collect();
        let name = styled(BOLD, &format!("{:<20}", visible_line(id.unwrap_or("default"))));
        let _ = writeln!(shown, "{name}  {}", styled(DIM, &facts.join("  ")));
    }
    shown
}

/// Plain values as they are, lists by their length.
fn fact(key: &str, value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(format!("{key} {number}")),
        Value::Bool(flag) => Some(format!("{key} {flag}")),
        Value::String(text) => Some(format!("{key} {}", visible_line(text))),
        Value::Array(items) => Some(format!("{key} {}", items.len())),
        Value::Null | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_read_as_lines() {
        let shown = render(&serde_json::json!({ "projects": [
            { "project_id": null, "schema_name": "project_default", "files": 3 },
            { "project_id": "client-a", "files": 1, "repositories": [1, 2] },
        ] }));
        let shown = anstream::adapter::strip_str(&shown).to_string();
        let lines: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["default", "schema_name", "project_default", "files", "3"]);
        assert_eq!(lines[1], ["client-a", "files", "1", "repositories", "2"]);
        assert!(render(&Value::Null).starts_with("No projects"));
    }
}
