//! The embedder that runs an ONNX model: tokenises texts and distributes them over sessions.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::embedder::{Embedder, cancelled_fault, normalise};
use super::model_files::{self, ModelFiles, Pooling};
use super::onnx::Model;
use super::query_cache::QueryCache;
use super::session_pool::SessionPool;
use super::tokenize::Tokenizer;
use contract::ModelIdentity;
use contract::config;
use contract::{ErrorCode, Fault};

/// Time between two checks for cancellation while no text is finished.
const CANCEL_POLL: Duration = Duration::from_millis(50);

/// Runs an ONNX model on the CPU, with one thread per session.
pub struct OnnxEmbedder {
    model: ModelIdentity,
    query_prefix: String,
    passage_prefix: String,
    tokenizer: Tokenizer,
    /// Queries have a session of their own, so that they do not wait for bulk work.
    query: Mutex<Model>,
    query_cache: QueryCache,
    bulk: SessionPool,
}

impl OnnxEmbedder {
    /// Loads library, tokenizer and graph, and embeds one word as a test; takes about 0.1 s.
    ///
    /// Sessions for bulk work are loaded when they are first needed.
    ///
    /// # Errors
    /// `CAPABILITY_MISSING`, with the remedy, if the library or the model is missing, damaged or of an unknown shape.
    pub fn open(files: &ModelFiles, ort_dylib: &Path, settings: &config::Embedding) -> Result<Self, Fault> {
        let environment = super::onnx::load_library(ort_dylib).map_err(|e| {
            unusable("ONNX Runtime cannot be loaded.", e).with_hint(
                "Run `pairofcleats bootstrap`, which checks installed files and renews damaged ones; if \
                 ORT_DYLIB_PATH is set, it must name an ONNX Runtime library of version 1.31 or newer.",
            )
        })?;
        let tokens_max = settings.tokens_max.min(files.tokens_max.unwrap_or(usize::MAX));
        let broken = |e: String| unusable(&format!("The model {} cannot be used.", files.id), e);
        let tokenizer = Tokenizer::open(&files.tokenizer, tokens_max).map_err(broken)?;
        let exact_int8 = model_files::needs_exact_int8(&files.variant);
        let open = {
            let (graph, pooling): (PathBuf, _) = (files.onnx.clone(), files.pooling);
            move || Model::open(&environment, &graph, pooling, exact_int8)
        };
        let mut query = open().map_err(broken)?;
        let dimensions = embed_one(&tokenizer, &mut query, "word").map_err(broken)?.len();
        if files.dimensions.is_some_and(|expected| expected != dimensions) {
            return Err(broken(format!("its vectors have {dimensions} dimensions")));
        }
        let model = ModelIdentity {
            id: files.id.clone(),
            variant: files.variant.clone(),
            hash: identity_hash(files, tokens_max),
            dimensions,
            tokens_max,
        };
        Ok(Self {
            model,
            query_prefix: files.query_prefix.clone(),
            passage_prefix: files.passage_prefix.clone(),
            tokenizer,
            query: Mutex::new(query),
            query_cache: QueryCache::new(settings.query_cache_entries),
            bulk: SessionPool::new(threads(settings.threads), Box::new(open)),
        })
    }

    /// Token ids of every text, computed on all threads.
    fn tokenise(&self, texts: &[String]) -> Result<Vec<Vec<i64>>, Fault> {
        let share = texts.len().div_ceil(self.bulk.sessions_max()).max(1);
        let ids = |text: &String| match &*self.passage_prefix {
            "" => self.tokenizer.ids(text),
            prefix => self.tokenizer.ids(&format!("{prefix}{text}")),
        };
        let shares: Vec<Result<Vec<_>, String>> = thread::scope(|scope| {
            let spawn = |texts| scope.spawn(move || <[String]>::iter(texts).map(ids).collect());
            let workers: Vec<_> = texts.chunks(share).map(spawn).collect();
            let join = |worker: thread::ScopedJoinHandle<'_, _>| {
                worker.join().unwrap_or_else(|_| Err("the tokenizer panicked".to_owned()))
            };
            workers.into_iter().map(join).collect()
        });
        let shares: Result<Vec<_>, _> = shares.into_iter().collect();
        Ok(shares.map_err(failed)?.concat())
    }

    /// Runs all texts and calls `on_vector` with each result, on the caller's thread.
    fn run_all(
        &self,
        ids: &[Vec<i64>],
        cancelled: &dyn Fn() -> bool,
        mut on_vector: impl FnMut(usize, Vec<f32>),
    ) -> Result<(), Fault> {
        // Longest first, so that all threads finish at about the same time.
        let mut order: Vec<usize> = (0..ids.len()).collect();
        order.sort_by_key(|&text| std::cmp::Reverse(ids[text].len()));
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (sender, receiver) = mpsc::channel();
        thread::scope(|scope| {
            for _ in 0..self.bulk.sessions_max().min(ids.len()) {
                let (sender, next, stop, order) = (sender.clone(), &next, &stop, &order);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let Some(&text) = order.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                        let vector = self.bulk.with_session(|model| unit_vector(model, &ids[text]));
                        if sender.send((text, vector)).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            let outcome = loop {
                if cancelled() {
                    break Err(cancelled_fault());
                }
                match receiver.recv_timeout(CANCEL_POLL) {
                    Ok((text, Ok(vector))) => on_vector(text, vector),
                    Ok((_, Err(e))) => break Err(failed(e)),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break Ok(()),
                }
            };
            // The scope waits for the workers, which would otherwise embed all remaining texts.
            stop.store(true, Ordering::Relaxed);
            outcome
        })
    }
}

impl Embedder for OnnxEmbedder {
    fn model(&self) -> &ModelIdentity {
        &self.model
    }

    fn embed_passages(&self, texts: &[String], cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, Fault> {
        let ids = self.tokenise(texts)?;
        let mut vectors = vec![Vec::new(); texts.len()];
        self.run_all(&ids, cancelled, |text, vector| vectors[text] = vector)?;
        Ok(vectors)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, Fault> {
        if let Some(vector) = self.query_cache.get(text) {
            return Ok(vector);
        }
        let prefixed = format!("{}{text}", self.query_prefix);
        let vector = embed_one(&self.tokenizer, &mut lock(&self.query), &prefixed).map_err(failed)?;
        self.query_cache.insert(text, &vector);
        Ok(vector)
    }
}

fn embed_one(tokenizer: &Tokenizer, model: &mut Model, text: &str) -> Result<Vec<f32>, String> {
    unit_vector(model, &tokenizer.ids(text)?)
}

/// Computes a vector and normalises it: the product's graphs do so themselves, custom ones may not.
fn unit_vector(model: &mut Model, ids: &[i64]) -> Result<Vec<f32>, String> {
    let mut vector = model.run(ids)?;
    if !vector.iter().all(|value| value.is_finite()) {
        return Err("a vector is not finite".to_owned());
    }
    normalise(&mut vector);
    Ok(vector)
}

/// Hash over everything that determines a vector: graph, tokenizer, token limit, prefixes, pooling.
fn identity_hash(files: &ModelFiles, tokens_max: usize) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&files.hash).update(&(tokens_max as u64).to_le_bytes());
    hasher.update(&(files.query_prefix.len() as u64).to_le_bytes());
    hasher.update(files.query_prefix.as_bytes()).update(files.passage_prefix.as_bytes());
    match files.pooling {
        // Adds nothing, so that projects pinned before poolings existed keep their model.
        Pooling::Inside => {}
        Pooling::Mean => _ = hasher.update(b"mean"),
        Pooling::Cls => _ = hasher.update(b"cls"),
    }
    *hasher.finalize().as_bytes()
}

/// The number of sessions; 0 means one per core.
fn threads(configured: usize) -> usize {
    match configured {
        0 => thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    }
}

/// Locks a mutex, even after a panic: a session keeps no state between runs.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unusable(message: &str, cause: String) -> Fault {
    Fault::new(ErrorCode::CapabilityMissing, message)
        .with_hint(
            "Run `pairofcleats bootstrap`, which checks installed files and renews damaged ones; if \
             assets.model_dir or assets.manifest names a model of your own, docs/models.md says what its graph must be.",
        )
        .with_source(cause)
}

fn failed(cause: String) -> Fault {
    Fault::internal("The embedding model failed.", cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    // The tests in tests/ use the real library and model: a process can load only one library, and this one loads none.
    #[test]
    fn a_missing_or_foreign_library_is_a_missing_capability_with_a_remedy() {
        let dir = tempfile::tempdir().unwrap();
        let foreign = dir.path().join("libonnxruntime.so");
        std::fs::write(&foreign, b"not a library").unwrap();
        let files = ModelFiles {
            id: "m".to_owned(),
            variant: "fp32".to_owned(),
            onnx: dir.path().join("model.onnx"),
            tokenizer: dir.path().join("tokenizer.json"),
            dimensions: None,
            tokens_max: None,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            pooling: Pooling::Inside,
            hash: [0; 32],
        };
        let settings = config::Embedding {
            threads: 1,
            tokens_max: 256,
            page_chunks: 1024,
            query_cache_entries: 1,
            models_loaded_max: 1,
        };
        for library in [foreign, dir.path().join("absent.so")] {
            let Err(fault) = OnnxEmbedder::open(&files, &library, &settings) else {
                panic!("{} was loaded", library.display());
            };
            assert_eq!(fault.code, ErrorCode::CapabilityMissing);
            assert!(fault.hint.unwrap().contains("ORT_DYLIB_PATH"));
        }
    }
}
