//! `projects`: the workspaces and what they hold.

use std::fmt::Write;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::output::{BOLD, DIM, styled};
use super::session::{Ran, Session};
use crate::contract::visible_line;
use crate::tools::Progress;

/// Arguments of `projects`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

/// Runs the command.
pub(super) async fn run(session: &Session) -> Ran {
    let called = session.call("workspace_status", &Map::new(), Progress::default()).await;
    Ok(session.output.answer(&called, render))
}

/// The parts of a `workspace_status` result that people read.
#[derive(Debug, Default, Deserialize)]
struct Workspaces {
    projects: Vec<Workspace>,
}

#[derive(Debug, Deserialize)]
struct Workspace {
    project_id: Option<String>,
    schema_name: String,
    #[serde(default)]
    repositories: Vec<Repository>,
}

#[derive(Debug, Deserialize)]
struct Repository {
    name: String,
    state: String,
    files: i64,
    chunks: i64,
}

fn render(result: &Value) -> String {
    let workspaces = Workspaces::deserialize(result).unwrap_or_default();
    if workspaces.projects.is_empty() {
        return "No projects yet; `pairofcleats index PATH --project ID` makes one.\n".to_owned();
    }
    let mut shown = String::new();
    for project in workspaces.projects {
        let id = project.project_id.as_deref().unwrap_or("default");
        let _ = writeln!(shown, "{}  {}", styled(BOLD, &visible_line(id)), styled(DIM, &project.schema_name));
        for Repository { name, state, files, chunks } in project.repositories {
            let counts = styled(DIM, &format!("{state}, {files} files, {chunks} chunks"));
            let _ = writeln!(shown, "  {}  {counts}", visible_line(&name));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_read_as_lines() {
        let shown = render(&serde_json::json!({ "projects": [
            { "project_id": null, "schema_name": "project_default", "repositories": [
                { "name": "app", "state": "ready", "files": 3, "chunks": 9 }
            ] },
            { "project_id": "client-a", "schema_name": "project_client_a", "repositories": [] },
        ] }));
        let shown = anstream::adapter::strip_str(&shown).to_string();
        assert_eq!(
            shown,
            "default  project_default\n  app  ready, 3 files, 9 chunks\nclient-a  project_client_a\n"
        );
        assert!(render(&Value::Null).starts_with("No projects"));
    }
}
