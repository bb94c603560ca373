//! Each definition in a chunk is indexed separately: filters find it, hits name it, and an exact query for its name ranks it
//! first.

mod corpus;
mod naming;
mod rows;
mod together;

use std::sync::Arc;

use gate::app::App;
use serde_json::{Value, json};

use crate::filters::shop::{IndexedProject, index};
use crate::harness::{Repository, app, project};

/// Indexes `files` as the only repository of a new project.
async fn index_files(name: &str, files: &[(&str, &str)]) -> IndexedProject {
    index_files_with(app(), name, files).await
}

async fn index_files_with(app: Arc<App>, name: &str, files: &[(&str, &str)]) -> IndexedProject {
    let (repository, project) = (Repository::new(files), project(name));
    index(&app, &repository, &project).await;
    IndexedProject::new(app, project, repository)
}

fn hits(answer: &Value) -> &Vec<Value> {
    answer["hits"].as_array().unwrap()
}

/// A hit as `file:line kind name`.
fn describe(hit: &Value) -> String {
    let text = |field: &str| hit[field].as_str().unwrap_or_default().to_owned();
    format!("{}:{} {} {}", text("file"), hit["line"], text("kind"), text("name"))
}

/// Returns the first hit of a query, or null.
async fn first_hit(indexed: &IndexedProject, query: &str) -> Value {
    let answer = indexed.search(query, json!({})).await;
    hits(&answer).first().cloned().unwrap_or_default()
}

/// The number of the first line that contains `text`, 1-based.
fn line_of(source: &str, text: &str) -> u64 {
    source.lines().position(|line| line.contains(text)).unwrap() as u64 + 1
}
