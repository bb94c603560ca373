//! The real model, from the installed assets that all tests of a machine share, and broken model files.

use std::cell::Cell;
use std::fs;

use contract::ErrorCode;
use contract::config;
use contract::config::Variant;
use embedding::{Embedder, ModelFiles, OnnxEmbedder};
use upkeep::install::{AssetSelection, EmbeddingAssets, install_for_tests};

fn assets() -> EmbeddingAssets {
    assets_for(Variant::Auto)
}

fn assets_for(variant: Variant) -> EmbeddingAssets {
    install_for_tests(AssetSelection { postgres: false, embedding: true }, variant)
        .unwrap()
        .embedding
        .unwrap()
}

fn settings() -> config::Embedding {
    config::Embedding {
        threads: 2,
        tokens_max: 256,
        page_chunks: 1024,
        query_cache_entries: 16,
        models_loaded_max: 1,
    }
}

fn embedder() -> OnnxEmbedder {
    embedder_for(Variant::Auto)
}

fn embedder_for(variant: Variant) -> OnnxEmbedder {
    let assets = assets_for(variant);
    OnnxEmbedder::open(&assets.model, &assets.ort_dylib, &settings()).unwrap()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[test]
fn related_texts_are_nearer_than_unrelated_ones() {
    let embedder = embedder();
    let passages: Vec<String> = [
        "src/http/retry.rs · RetryPolicy.next_delay\nfn next_delay(&self, attempt: u32) -> Duration { \
         self.base * 2u32.pow(attempt).min(self.cap) }",
        "src/geometry/mesh.rs · Mesh.normals\nfn normals(&self) -> Vec<Vec3> { \
         self.triangles.iter().map(|t| t.edge_a().cross(t.edge_b()).normalized()).collect() }",
        "src/auth/password.py · verify_password\ndef verify_password(plain, hashed):\n    \
         return bcrypt.checkpw(plain.encode(), hashed)",
    ]
    .map(String::from)
    .to_vec();
    let vectors = embedder.embed_passages(&passages, &|| false).unwrap();
    let queries =
        ["exponential backoff between attempts", "surface normal of a triangle", "check user login secret"];
    for (right, query_text) in queries.iter().enumerate() {
        let query = embedder.embed_query(query_text).unwrap();
        let scores: Vec<f32> = vectors.iter().map(|vector| dot(&query, vector)).collect();
        let best = (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap();
        assert_eq!(best, right, "{query_text}: {scores:?}");
    }
}

#[test]
fn a_vector_depends_on_its_own_text_only_and_keeps_its_place() {
    let embedder = embedder();
    // Short texts, some long ones that are truncated, and an empty one.
    let mut texts: Vec<String> = (0..40).map(|i| format!("let value_{} = {};", i % 10, i * 7)).collect();
    texts.extend(
        (0..6).map(|i| format!("fn f{i}() {{ {} }}", "total += price * amount; ".repeat(20 + 30 * i))),
    );
    texts.push(String::new());
    let together = embedder.embed_passages(&texts, &|| false).unwrap();
    assert_eq!(together.len(), texts.len());
    for (text, vector) in texts.iter().zip(&together) {
        assert!(&embedder.embed_query(text).unwrap() == vector, "{text}");
        assert_eq!(vector.len(), embedder.model().dimensions);
        assert!((dot(vector, vector) - 1.0).abs() < 1e-5);
    }
    texts.reverse();
    let mut reversed = embedder.embed_passages(&texts, &|| false).unwrap();
    reversed.reverse();
    assert!(reversed == together, "the order of the texts changed a vector");
}

#[test]
fn the_exact_graph_computes_what_the_published_model_does() {
    let vector = embedder_for(Variant::Fp32)
        .embed_query("fn open_connection(pool: &Pool) -> Result<Connection>")
        .unwrap();
    // From a plain float64 evaluation of the same weights.
    let expected = [0.001_097, 0.020_473, -0.118_94, 0.006_169, 0.005_267, -0.031_845, 0.036_257, 0.022_85];
    for (value, expected) in vector.iter().zip(expected) {
        assert!((value - expected).abs() < 1e-4, "{value} is not {expected}");
    }
}

#[test]
fn the_quantised_graph_stays_close_to_the_exact_one() {
    let source = include_str!("../../crates/embedding/src/onnx_embedder.rs");
    let lines: Vec<&str> = source.lines().collect();
    let header = "src/embedding/onnx_embedder.rs · OnnxEmbedder";
    let texts: Vec<String> =
        lines.chunks(20).map(|chunk| format!("{header}\n{}", chunk.join("\n"))).collect();
    let [exact, quantised] = [Variant::Fp32, Variant::Int8]
        .map(|variant| embedder_for(variant).embed_passages(&texts, &|| false).unwrap());
    let cosines: Vec<f32> = exact.iter().zip(&quantised).map(|(a, b)| dot(a, b)).collect();
    #[expect(clippy::cast_precision_loss, reason = "a dozen")]
    let mean = cosines.iter().sum::<f32>() / cosines.len() as f32;
    assert!((0.993..0.999_99).contains(&mean), "{cosines:?}");
}

#[test]
fn text_beyond_the_token_limit_changes_no_vector() {
    let embedder = embedder();
    let head = "word ".repeat(300);
    let [a, b] = ["alpha", "beta"].map(|tail| embedder.embed_query(&format!("{head}{tail}")).unwrap());
    assert_eq!(a, b);
}

#[test]
fn embedding_stops_soon_after_it_is_cancelled() {
    let embedder = embedder();
    let texts = vec!["fn main() {}\n".repeat(100); 200];
    let polls = Cell::new(0);
    let cancelled = || {
        polls.set(polls.get() + 1);
        polls.get() > 3
    };
    let fault = embedder.embed_passages(&texts, &cancelled).unwrap_err();
    assert_eq!(fault.code, ErrorCode::Cancelled);
    assert!(embedder.embed_passages(&[], &|| false).unwrap().is_empty());
}

#[test]
fn the_identity_distinguishes_models_and_limits() {
    let assets = assets();
    let identity_with = |settings: &config::Embedding| {
        OnnxEmbedder::open(&assets.model, &assets.ort_dylib, settings).unwrap().model().clone()
    };
    let identity = identity_with(&settings());
    assert_eq!(
        (identity.id.as_str(), identity.dimensions, identity.tokens_max),
        ("all-minilm-l6-v2", 384, 256)
    );
    assert_eq!(identity, identity_with(&settings()));
    let shorter = identity_with(&config::Embedding { tokens_max: 128, ..settings() });
    assert_ne!(identity.hash, shorter.hash);
    let longer = identity_with(&config::Embedding { tokens_max: 100_000, ..settings() });
    assert_eq!(identity, longer, "the model's own limit holds");
}

#[test]
fn broken_files_are_a_missing_capability_with_a_remedy() {
    let assets = assets();
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| {
        fs::write(dir.path().join(name), content).unwrap();
        dir.path().join(name)
    };
    let graph = fs::read(&assets.model.onnx).unwrap();
    let truncated = write("truncated.onnx", &graph[..graph.len() / 2]);
    let garbage = write("garbage.onnx", b"not a graph");
    let not_json = write("tokenizer.json", b"{");
    let model = &assets.model;
    let broken = [
        ModelFiles { onnx: truncated, ..model.clone() },
        ModelFiles { onnx: garbage, ..model.clone() },
        ModelFiles { onnx: dir.path().join("absent.onnx"), ..model.clone() },
        ModelFiles { tokenizer: not_json, ..model.clone() },
        ModelFiles { dimensions: Some(768), ..model.clone() },
    ];
    for files in broken {
        let Err(fault) = OnnxEmbedder::open(&files, &assets.ort_dylib, &settings()) else {
            panic!("{files:?} opened");
        };
        assert_eq!(fault.code, ErrorCode::CapabilityMissing);
        assert!(fault.hint.unwrap().contains("bootstrap"));
    }
}
