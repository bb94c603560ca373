//! Exact search: the lines that a literal text or a regular expression matches, compared with a plain search of the files.

mod answers;
mod everywhere;
mod oracle;

use std::path::Path;
use std::sync::Arc;

use gate::app::App;
use serde_json::{Value, json};

use crate::filters::shop::{IndexedProject, index};
use crate::harness::{Repository, project};

/// A line of an answer or of the oracle: path, line, column, length, text.
type Line = (String, u64, u64, u64, String);

/// The lines of an answer.
fn lines(answer: &Value) -> Vec<Line> {
    let files = answer["matches"]["files"].as_array().unwrap_or_else(|| panic!("{answer:#}"));
    let number = |line: &Value, field: &str| line[field].as_u64().unwrap();
    files
        .iter()
        .flat_map(|file| {
            let path = file["file"].as_str().unwrap();
            file["lines"].as_array().unwrap().iter().map(move |line| {
                let text = line["text"].as_str().unwrap().to_owned();
                (path.to_owned(), number(line, "line"), number(line, "column"), number(line, "length"), text)
            })
        })
        .collect()
}

/// The places of an answer's lines, as `path:line`.
fn places(answer: &Value) -> Vec<String> {
    lines(answer).into_iter().map(|(path, line, ..)| format!("{path}:{line}")).collect()
}

/// Indexes files as a project of their own.
async fn indexed(app: Arc<App>, name: &str, files: &[(&str, &str)]) -> IndexedProject {
    let (project, repository) = (project(name), Repository::new(files));
    index(&app, &repository, &project).await;
    IndexedProject::new(app, project, repository)
}

/// A search for the lines that match a regular expression.
async fn grep(indexed: &IndexedProject, pattern: &str, arguments: Value) -> Value {
    let mut all = json!({ "regex": true, "top": 1000 });
    all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
    indexed.search(pattern, all).await
}

/// The files below a folder of this repository, as path and text.
fn sources(folder: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.join(folder)];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                files.push((path.strip_prefix(root).unwrap().to_str().unwrap().to_owned(), text));
            }
        }
    }
    files.sort();
    files
}
