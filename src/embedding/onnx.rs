//! Runs a graph in ONNX Runtime. The one file that names `ort`.
//!
//! A [`Model`] runs one text on one thread. Batches would fall out of the CPU's cache (15 to 40 %
//! slower at 256 tokens), need padding and a mask, and sum in another order, so that a vector would
//! depend on its company. Parallel work takes several models: one session with several threads is
//! slower, and falls below one thread when a neighbour is busy.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ort::environment::Environment;
use ort::session::Session;
use ort::session::builder::GraphOptimizationLevel;
use ort::value::TensorRef;

const INPUT: &str = "input_ids";

/// The process has one environment for its life; a failed load is tried again on the next open.
static ENVIRONMENT: Mutex<Option<Environment>> = Mutex::new(None);

/// Loads the library once. A later call with another path gets the first library.
///
/// Without an explicit load, `ort` looks for a library by itself and panics if there is none.
pub(super) fn load_library(path: &Path) -> Result<Environment, String> {
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
}

impl Model {
    /// Loads the graph: 50 ms and 50 MB for int8.
    ///
    /// `exact_int8` is for CPUs whose int8 products would saturate.
    pub(super) fn open(environment: &Environment, graph: &Path, exact_int8: bool) -> Result<Self, String> {
        let session = Self::session(environment, graph, exact_int8)?;
        let inputs: Vec<&str> = session.inputs().iter().map(ort::value::Outlet::name).collect();
        if inputs != [INPUT] {
            return Err(format!("the graph takes {inputs:?}, not [{INPUT:?}]"));
        }
        Ok(Self { session })
    }

    fn session(environment: &Environment, graph: &Path, exact_int8: bool) -> Result<Session, String> {
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
        let input = TensorRef::from_array_view(([1, ids.len()], ids)).map_err(|e| e.to_string())?;
        let outputs = self.session.run(ort::inputs![input]).map_err(|e| e.to_string())?;
        let vector = outputs.values().next().ok_or("the graph answers nothing")?;
        let (shape, values) = vector.try_extract_tensor::<f32>().map_err(|e| e.to_string())?;
        match **shape {
            [1, _] if !values.is_empty() => Ok(values.to_vec()),
            ref other => Err(format!("the graph answers {other:?}, not one vector a text")),
        }
    }
}
