//! Edits of single files, until the edge that each adds is found.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

use super::PROJECT;
use crate::Experiment;
use crate::speed::Latency;
use contract::{ErrorCode, Fault};

/// Interval of questions for an edge.
const POLL: Duration = Duration::from_millis(5);
/// The benchmark fails if an edge is not found within this time.
const EDIT_TIMEOUT: Duration = Duration::from_secs(60);

/// Adds to Python files functions that call the one before, and waits each time until its caller is found.
pub(super) async fn measure(
    experiment: &Experiment,
    root: &Path,
    files: &[PathBuf],
    edits: usize,
    on_progress: &(dyn Fn(&str) + Sync),
) -> Result<Latency, Fault> {
    let Some(file) = python_file(root, files) else {
        on_progress("no Python file to edit");
        return Ok(Latency::default());
    };
    let failed = |error| Fault::internal(format!("{} could not be edited.", file.display()), error);
    let mut text = fs::read_to_string(&file).map_err(failed)?;
    let mut times = Vec::with_capacity(edits);
    for edit in 0..=edits {
        text.push_str(&format!("\n\ndef quux_zan_{}():\n    return quux_zan_{edit}()\n", edit + 1));
        fs::write(&file, &text).map_err(failed)?;
        let started = Instant::now();
        let run = experiment.index(PROJECT, root);
        let name = format!("quux_zan_{edit}");
        let (found, run) = tokio::join!(wait_for_caller(experiment, root, &name, started), run);
        run?;
        // The first edit defines the name that the second one calls.
        if edit > 0 {
            times.push(found?);
        }
    }
    let latency = Latency::from_times(times);
    on_progress(&format!("an edited file: its edge is true after {:.0} ms", latency.p50_ms));
    Ok(latency)
}

/// A small file in which names can be defined.
fn python_file(root: &Path, files: &[PathBuf]) -> Option<PathBuf> {
    let bytes = |file: &PathBuf| fs::metadata(root.join(file)).map_or(0, |data| data.len());
    let is_python = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "py");
    let found = files.iter().find(|file| is_python(file) && (2_000..20_000).contains(&bytes(file)))?;
    Some(root.join(found))
}

async fn wait_for_caller(
    experiment: &Experiment,
    root: &Path,
    name: &str,
    started: Instant,
) -> Result<Duration, Fault> {
    let arguments = json!({ "symbol": name, "relation": "callers", "repoPath": root, "project_id": PROJECT });
    while started.elapsed() < EDIT_TIMEOUT {
        match experiment.call("navigate", arguments.clone()).await {
            Ok(answer) if answer["total"].as_u64().unwrap_or_default() > 0 => return Ok(started.elapsed()),
            Err(fault) if fault.code == ErrorCode::NotFound && name.ends_with("_0") => break,
            Err(fault) if fault.code != ErrorCode::NotFound => return Err(fault),
            Ok(_) | Err(_) => tokio::time::sleep(POLL).await,
        }
    }
    Err(Fault::internal("The edge of an edit was not found.", name.to_owned()))
}
