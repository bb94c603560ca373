//! Every definition of a chunk is known by itself: filters find it, hits name it, and its name asked exactly comes first.

mod corpus;
mod naming;
mod rows;
mod together;

use std::sync::Arc;

use pairofcleats::app::App;
use serde_json::{Value, json};

use crate::filters::shop::{Shop, index};
use crate::harness::{Repository, app, project};

/// An indexed repository of some files.
async fn indexed(name: &str, files: &[(&str, &str)]) -> Shop {
    indexed_by(app(), name, files).await
}

async fn indexed_by(app: Arc<App>, name: &str, files: &[(&str, &str)]) -> Shop {
    let (repository, project) = (Repository::new(files), project(name));
    index(&app, &repository, &project).await;
    Shop::of(app, project, repository)
}

fn hits(answer: &Value) -> &Vec<Value> {
    answer["hits"].as_array().unwrap()
}

/// `file:line kind name`, as people read a hit.
fn read(hit: &Value) -> String {
    let text = |field: &str| hit[field].as_str().unwrap_or_default().to_owned();
    format!("{}:{} {} {}", text("file"), hit["line"], text("kind"), text("name"))
}

/// The first hit of a question.
async fn first(shop: &Shop, query: &str) -> Value {
    let answer = shop.ask(query, json!({})).await;
    hits(&answer).first().cloned().unwrap_or_default()
}

/// Line of the first line that holds `text`, 1-based.
fn line_of(source: &str, text: &str) -> u64 {
    source.lines().position(|line| line.contains(text)).unwrap() as u64 + 1
}
