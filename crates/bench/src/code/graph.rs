//! Cost of questions about symbols.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;
use serde_json::json;

use super::PROJECT;
use crate::Experiment;
use crate::speed::Latency;
use crate::speed::corpus::spread_evenly;
use contract::{ErrorCode, Fault};
use languages::symbols::{Place, SymbolKind};
use languages::{ChunkLimits, chunk, detect};

/// The relations that are asked.
const RELATIONS: [&str; 5] = ["definition", "references", "callers", "callees", "impact"];
/// Number of definitions.
const DEFINITIONS: usize = 200;
/// Steps of impact.
const DEPTH: u32 = 3;

/// The times of a relation.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RelationFigures {
    /// The relation.
    pub relation: &'static str,
    /// Mean number of places.
    pub places: f64,
    /// Time until the answer is there.
    pub latency: Latency,
}

/// Asks each relation of definitions that are spread over a copy.
pub(super) async fn measure(
    experiment: &Experiment,
    root: &Path,
    files: &[PathBuf],
    repeats: usize,
    on_progress: &(dyn Fn(&str) + Sync),
) -> Result<Vec<RelationFigures>, Fault> {
    let places = definitions(root, files);
    let mut figures = Vec::with_capacity(RELATIONS.len());
    for relation in RELATIONS {
        let (mut times, mut found, mut answers) = (Vec::new(), 0, 0_u32);
        for (file, place) in places.iter().cycle().take(places.len() * repeats.div_ceil(10)) {
            let arguments = json!({
                "file": file, "line": place.line, "column": place.column, "relation": relation, "depth": DEPTH,
                "repoPath": root, "project_id": PROJECT,
            });
            let started = Instant::now();
            match experiment.call("navigate", arguments).await {
                Ok(answer) => {
                    times.push(started.elapsed());
                    found += answer["total"].as_u64().unwrap_or_default();
                    answers += 1;
                }
                // A name of the syntax that is no definition of the index.
                Err(fault) if fault.code == ErrorCode::NotFound => {}
                Err(fault) => return Err(fault),
            }
        }
        let latency = Latency::from_times(times);
        on_progress(&format!("{relation}: p50 {:.1} ms, p95 {:.1} ms", latency.p50_ms, latency.p95_ms));
        #[expect(clippy::cast_precision_loss, reason = "a mean of counts")]
        let places = found as f64 / f64::from(answers.max(1));
        figures.push(RelationFigures { relation, places, latency });
    }
    Ok(figures)
}

/// A function or type of as many files, with its file relative to the root.
fn definitions(root: &Path, files: &[PathBuf]) -> Vec<(PathBuf, Place)> {
    let limits = ChunkLimits { facts: true, ..ChunkLimits::default() };
    let first = |file: &PathBuf| {
        let text = fs::read_to_string(root.join(file)).ok()?;
        let symbols = chunk(&text, detect(&file.to_string_lossy(), text.as_bytes()), &limits).symbols?;
        let mut seen = symbols.interface.symbols.iter();
        let found = seen.find(|symbol| matches!(symbol.kind, SymbolKind::Function | SymbolKind::Type))?;
        Some((file.clone(), found.place))
    };
    spread_evenly(files.iter().filter_map(first).collect(), Some(DEFINITIONS))
}
