//! Reindexing one changed file in a generated project.

use std::fs;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use super::corpus::Corpus;
use super::query_figures::quantile;
use crate::Experiment;
use contract::Fault;
use store::Project;

/// Number of files in the repository.
const FILES: usize = 50;
/// Number of changes to one of them.
const CHANGES: usize = 7;

/// The cost of one changed file.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReindexFigures {
    /// Median seconds of the whole run.
    pub seconds: f64,
    /// Maximum seconds of the whole run.
    pub seconds_max: f64,
    /// Median seconds until lexical search covered the change, as the run reports.
    pub lexical_seconds: f64,
}

/// Indexes a small repository of real files in addition to the copies, then changes one of its files several times.
///
/// # Errors
/// File system errors; faults of the runs.
pub(super) async fn measure(
    experiment: &Experiment,
    folder: &Path,
    corpus: &Corpus,
    project: &Project,
) -> Result<ReindexFigures, Fault> {
    let root = experiment.copies().join("scale-edited");
    let failed = |error| Fault::internal(format!("{} could not be written.", root.display()), error);
    let step = (corpus.files.len() / FILES).max(1);
    let paths: Vec<&str> =
        corpus.files.iter().step_by(step).take(FILES).map(|file| file.path.as_str()).collect();
    for path in &paths {
        let target = root.join(path);
        let copied = target
            .parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::copy(folder.join(path), &target));
        copied.map_err(failed)?;
    }
    experiment.index(project.id().as_str(), &root).await?;
    let edited = root.join(paths[paths.len() / 2]);
    let (mut whole, mut lexical) = (Vec::new(), Vec::new());
    for change in 0..CHANGES {
        let text = fs::read_to_string(&edited).map_err(failed)?;
        fs::write(&edited, format!("{text}\nchanged for the time number {change}\n")).map_err(failed)?;
        let started = Instant::now();
        let report = experiment.index(project.id().as_str(), &root).await?;
        whole.push(started.elapsed().as_secs_f64());
        lexical.push(report.lexical_seconds);
    }
    Ok(ReindexFigures {
        seconds: quantile(whole.iter().copied(), 0.5),
        seconds_max: quantile(whole.into_iter(), 1.0),
        lexical_seconds: quantile(lexical.into_iter(), 0.5),
    })
}
