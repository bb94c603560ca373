//! Runs a graph in ONNX Runtime; the only file that uses `ort`.
//!
//! A [`Model`] runs one text on one thread. Batches would fall out of the CPU's cache (15 to 40 %
//! slower at 256 tokens), need padding and a mask, and sum in another order, so that a vector would
//! depend on the other texts of its batch. Parallel work takes several models: one session with several threads is
//! slower, and falls below one thread when a neighbour is busy.

use std::path::Path;
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, TryLockError};
use std::time::{Duration, Instant};

use ort::environment::Environment;
use ort::session::Session;
use ort::session::builder::GraphOptimizationLevel;
use ort::value::TensorRef;

use super::model_files::Pooling;

/// Name of the input with the token ids.
const IDS: &str = "input_ids";
/// Further inputs of published graphs, each with the value that it has everywhere for one text without padding.
const CONSTANTS: [(&str, i64); 2] = [("attention_mask", 1), ("token_type_ids", 0)];

/// The environment of the process; a failed load is tried again by the next open.
static ENVIRONMENT: Mutex<Option<Environment>> = Mutex::new(None);

/// Read-locked by every thread that calls the library.
static INSIDE: RwLock<()> = RwLock::new(());

fn inside() -> RwLockReadGuard<'static, ()> {
    INSIDE.read().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for at most `timeout` until no thread is inside the library, and keeps threads out from then on. Called before the
/// process exits, because its exit handlers free what a thread inside would still use. False when the timeout passed.
pub fn close(timeout: Duration) -> bool {
    let started = Instant::now();
    loop {
        match INSIDE.try_write() {
            Ok(closed) => {
                // The lock is never released, so that no thread enters the library again.
                std::mem::forget(closed);
                return true;
            }
            Err(TryLockError::Poisoned(_)) => return true,
            Err(TryLockError::WouldBlock) if started.elapsed() >= timeout => return false,
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// Loads the library once. A later call with another path gets the first library.
///
/// Without an explicit load, `ort` looks for a library by itself and panics if it finds none.
pub(super) fn load_library(path: &Path) -> Result<Environment, String> {
    let _inside = inside();
    let mut environment = ENVIRONMENT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(environment) = &*environment {
        return Ok(environment.clone());
    }
    let builder = ort::init_from(path).map_err(|e| e.to_string())?;
    let loaded = builder.with_telemetry(false).build().map_err(|e| e.to_string())?;
    Ok(environment.insert(loaded).clone())
}

/// One session of a graph from token ids to vectors, single-threaded.
pub(super) struct Model {
    session: Session,
    /// Those of [`CONSTANTS`] that the graph takes.
    constants: Vec<(&'static str, i64)>,
    pooling: Pooling,
}

impl Model {
    /// Loads the graph: 50 ms and 50 MB for int8.
    ///
    /// `exact_int8` is for CPUs whose int8 products would saturate.
    pub(super) fn open(
        environment: &Environment,
        graph: &Path,
        pooling: Pooling,
        exact_int8: bool,
    ) -> Result<Self, String> {
        let session = Self::session(environment, graph, exact_int8)?;
        let inputs: Vec<&str> = session.inputs().iter().map(ort::value::Outlet::name).collect();
        let constants: Vec<_> = CONSTANTS.into_iter().filter(|(name, _)| inputs.contains(name)).collect();
        if !inputs.contains(&IDS) || inputs.len() != 1 + constants.len() {
            return Err(format!(
                "the graph takes {inputs:?}, not {IDS:?}, attention_mask and token_type_ids"
            ));
        }
        Ok(Self { session, constants, pooling })
    }

    fn session(environment: &Environment, graph: &Path, exact_int8: bool) -> Result<Session, String> {
        let _inside = inside();
        let failed = |e: ort::Error<ort::session::builder::SessionBuilder>| e.to_string();
        let mut builder = Session::builder(environment)
            .map_err(|e| e.to_string())?
            .with_optimization_level(GraphOptimizationLevel::All)
            .map_err(failed)?
            .with_intra_threads(1)
            .map_err(failed)?
            .with_intra_op_spinning(false)
            .map_err(failed)?;
        if exact_int8 {
            builder = builder.with_precise_qmm().map_err(failed)?;
        }
        builder.commit_from_file(graph).map_err(|e| e.to_string())
    }

    /// The vector of one text's token ids.
    pub(super) fn run(&mut self, ids: &[i64]) -> Result<Vec<f32>, String> {
        let _inside = inside();
        let tensor = |values| TensorRef::from_array_view(([1, ids.len()], values)).map_err(|e| e.to_string());
        let filled: Vec<(&str, Vec<i64>)> =
            self.constants.iter().map(|(name, value)| (*name, vec![*value; ids.len()])).collect();
        let mut inputs = ort::inputs![IDS => tensor(ids)?];
        for (name, values) in &filled {
            inputs.push(((*name).into(), tensor(values.as_slice())?.into()));
        }
        let outputs = self.session.run(inputs).map_err(|e| e.to_string())?;
        let vector = outputs.values().next().ok_or("the graph has no output")?;
        let (shape, values) = vector.try_extract_tensor::<f32>().map_err(|e| e.to_string())?;
        match (self.pooling, &**shape) {
            (Pooling::Inside, [1, _]) if !values.is_empty() => Ok(values.to_vec()),
            (Pooling::Mean | Pooling::Cls, [1, tokens, _]) if !values.is_empty() => {
                let tokens = usize::try_from(*tokens).unwrap_or(1).max(1);
                Ok(pooled(self.pooling, values, tokens))
            }
            (pooling, other) => Err(format!(
                "the graph's output has the shape {other:?}, which does not fit pooling {pooling:?}"
            )),
        }
    }
}

/// Pools the vectors of the tokens, which are stored one after the other, into one.
fn pooled(pooling: Pooling, values: &[f32], tokens: usize) -> Vec<f32> {
    let width = values.len() / tokens;
    if pooling == Pooling::Cls {
        return values[..width].to_vec();
    }
    let mut mean = vec![0.0; width];
    for token in values.chunks_exact(width) {
        mean.iter_mut().zip(token).for_each(|(sum, value)| *sum += value);
    }
    #[expect(clippy::cast_precision_loss, reason = "a few hundred tokens")]
    let count = tokens as f32;
    mean.iter_mut().for_each(|sum| *sum /= count);
    mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_become_one_vector() {
        let values = [1.0, 2.0, 3.0, 6.0];
        assert_eq!(pooled(Pooling::Mean, &values, 2), [2.0, 4.0]);
        assert_eq!(pooled(Pooling::Cls, &values, 2), [1.0, 2.0]);
    }
}
