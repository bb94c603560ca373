//! Navigation over real index runs: where symbols are defined and used, and what is said where that is not known.

mod complaints;
mod edits;
mod fields;
mod go_interfaces;
mod homonyms;
mod large;
mod letters;
mod operators;
mod proposals;
mod searches;
mod spellings;
mod subjects;
mod walks;

use std::sync::Arc;

use gate::app::App;
use serde_json::{Value, json};

use crate::harness::{Repository, app, call, project, result};

/// A repository that is indexed into a project of its own.
struct Graph {
    app: Arc<App>,
    repository: Repository,
    project: String,
}

impl Graph {
    async fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let graph = Self { app: app(), repository: Repository::new(files), project: project(name) };
        graph.index().await;
        graph
    }

    async fn index(&self) {
        let arguments = json!({ "repoPath": self.repository.root(), "project_id": self.project });
        result(&self.app, "build_index", arguments).await;
    }

    /// The envelope of a call.
    async fn ask(&self, mut arguments: Value) -> Value {
        arguments["project_id"] = json!(self.project);
        call(&self.app, "navigate", arguments).await
    }

    /// The result of a call, which must succeed.
    async fn navigate(&self, arguments: Value) -> Value {
        let mut envelope = self.ask(arguments).await;
        assert_eq!(envelope["ok"], true, "{envelope:#}");
        envelope["result"].take()
    }

    /// The places of a relation.
    async fn places(&self, symbol: &str, relation: &str) -> Vec<String> {
        places(&self.navigate(json!({ "symbol": symbol, "relation": relation })).await["files"])
    }

    /// The error of a call, which must fail.
    async fn error(&self, arguments: Value) -> Value {
        let mut envelope = self.ask(arguments).await;
        assert_eq!(envelope["ok"], false, "{envelope:#}");
        envelope["error"].take()
    }
}

/// Places as `file:line name`, where the name is that of the definition, or of the definition around a use.
fn places(files: &Value) -> Vec<String> {
    let mut all = Vec::new();
    for file in files.as_array().unwrap() {
        for place in file["places"].as_array().unwrap() {
            let name = place["name"].as_str().or(place["in"].as_str()).unwrap_or("-");
            all.push(format!("{}:{} {name}", file["file"].as_str().unwrap(), place["line"]));
        }
    }
    all
}

/// The candidates of an ambiguous name as `file:line qualified`.
fn candidates(result: &Value) -> Vec<String> {
    let all = result["candidates"].as_array().into_iter().flatten();
    let one = |candidate: &Value| {
        let text = |field: &str| candidate[field].as_str().unwrap().to_owned();
        format!("{}:{} {}", text("file"), candidate["line"], text("qualified"))
    };
    all.map(one).collect()
}
