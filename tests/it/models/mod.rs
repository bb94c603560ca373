//! Models side by side: installing them, projects pinned to them, and giving a project another one.

mod damaged;
mod download;
mod modes;
mod own;
mod pinned;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use contract::Fault;
use contract::ModelIdentity;
use contract::config::Variant;
use embedding::{Embedder, StubEmbedder};
use pairofcleats::app::App;
use serde_json::{Value, json};
use upkeep::assets::{Wanted, install_for_tests, test_home};

use crate::harness::{Repository, call, error, result};

pub(crate) const MINILM: &str = "all-minilm-l6-v2";

/// Both graphs of the real model, installed for all tests of the machine.
pub(crate) fn both_variants() {
    for variant in [Variant::Int8, Variant::Fp32] {
        install_for_tests(Wanted { postgres: false, embedding: true }, variant).unwrap();
    }
}

/// The folder with the wheels that the tests' assets were made from.
pub(crate) fn wheels() -> String {
    both_variants();
    test_home().downloads().to_string_lossy().into_owned()
}

/// A model of the test's own: word hashes of another length, made only while it may.
pub(crate) struct Toy {
    identity: ModelIdentity,
    pub(crate) open: AtomicBool,
}

impl Toy {
    pub(crate) fn new(id: &str, dimensions: usize, open: bool) -> Arc<Self> {
        let hash = *blake3::hash(id.as_bytes()).as_bytes();
        let identity =
            ModelIdentity { id: id.into(), variant: "int8".into(), hash, dimensions, tokens_max: usize::MAX };
        Arc::new(Self { identity, open: AtomicBool::new(open) })
    }

    fn cut(&self, mut vector: Vec<f32>) -> Vec<f32> {
        vector.truncate(self.identity.dimensions);
        vector[0] += 0.1;
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        vector.iter_mut().for_each(|x| *x /= length);
        vector
    }
}

impl Embedder for Toy {
    fn model(&self) -> &ModelIdentity {
        &self.identity
    }

    fn embed_passages(&self, texts: &[String], cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, Fault> {
        while !self.open.load(Ordering::Acquire) && !cancelled() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let vectors = StubEmbedder::default().embed_passages(texts, cancelled)?;
        Ok(vectors.into_iter().map(|vector| self.cut(vector)).collect())
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, Fault> {
        Ok(self.cut(StubEmbedder::default().embed_query(text)?))
    }
}

/// A few files with different texts.
pub(crate) fn shop() -> Repository {
    Repository::new(&[
        ("a.py", "def obtain_user_credentials(form):\n    return form['login'], form['password']\n"),
        ("b.py", "def paint_rectangle(canvas, width, height):\n    canvas.draw(width, height)\n"),
        ("c.py", "def compress_archive(folder):\n    return zip_all(folder)\n"),
    ])
}

/// Indexes with more arguments; it must succeed. Gives the report.
pub(crate) async fn build(app: &Arc<App>, repository: &Repository, project: &str, more: Value) -> Value {
    result(app, "build_index", arguments(repository, project, more)).await["report"].take()
}

/// Indexes with more arguments; it must fail.
pub(crate) async fn build_error(
    app: &Arc<App>,
    repository: &Repository,
    project: &str,
    more: Value,
) -> Value {
    error(app, "build_index", arguments(repository, project, more)).await
}

pub(crate) fn arguments(repository: &Repository, project: &str, more: Value) -> Value {
    let mut arguments = json!({ "repoPath": repository.root(), "project_id": project });
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    arguments
}

/// What a question finds first, whether vectors were compared, and the codes of the warnings.
pub(crate) async fn ask(app: &Arc<App>, project: &str, query: &str) -> (String, bool, Vec<String>) {
    let answer = call(app, "search", json!({ "query": query, "project_id": project })).await;
    let warnings = answer["_meta"]["warnings"].as_array().cloned().unwrap_or_default();
    let codes = warnings.iter().map(|warning| warning["code"].as_str().unwrap().to_owned()).collect();
    let first = answer["result"]["hits"][0]["file"].as_str().unwrap_or_default().to_owned();
    (first, answer["result"]["vectors"] != "none", codes)
}

pub(crate) async fn status(app: &Arc<App>, project: &str) -> Value {
    result(app, "index_status", json!({ "project_id": project })).await
}

pub(crate) async fn wait_for(what: &str, mut reached: impl AsyncFnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(60);
    while !reached().await {
        assert!(Instant::now() < give_up, "waited in vain for: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
