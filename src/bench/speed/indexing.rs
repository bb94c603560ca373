//! Index runs: the first one, an unchanged one, and edits of single files until a search finds the change.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::json;

use super::PROJECT;
use super::corpus::Corpus;
use super::latency::{Latency, rounded};
use super::profile::{PostgresServer, Profile};
use crate::bench::Experiment;
use contract::clock::Clock;
use contract::{ErrorCode, Fault};
use engine::indexing::RunReport;
use store::{Access, Project, ProjectTx, files, repositories};

/// Interval of searches for an edit.
const POLL: Duration = Duration::from_millis(5);
/// The benchmark fails if an edit is not found within this time.
const EDIT_TIMEOUT: Duration = Duration::from_secs(60);

/// Figures of the full runs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexFigures {
    /// Number of indexed files.
    pub files: u64,
    /// Number of chunks.
    pub chunks: u64,
    /// Number of distinct texts embedded.
    pub vectors: u64,
    /// Seconds until lexical search covered everything, in the first run.
    pub lexical_seconds: f64,
    /// Seconds of the first run.
    pub seconds: f64,
    /// Vectors per second after lexical search was ready.
    pub vectors_per_second: f64,
    /// Resources of the first run.
    pub first: Profile,
    /// Resources of a run without changes.
    pub unchanged: Profile,
}

/// Latency of single-file edits.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EditFigures {
    /// Until a search found the new name.
    pub searchable: Latency,
    /// Until the run ended, including vectors.
    pub complete: Latency,
}

/// Indexes everything, then runs again without changes.
pub(super) async fn measure_runs(
    experiment: &Experiment,
    corpus: &Corpus,
    server: &PostgresServer,
    on_progress: &(dyn Fn(&str) + Sync),
) -> Result<IndexFigures, Fault> {
    // Load the model and start the database before the measurement.
    experiment.model().await?;
    let phase = server.begin();
    let first: RunReport = experiment.index(PROJECT, &corpus.root).await?;
    let profile = phase.end();
    on_progress(&format!("first run: {} chunks in {:.1} s", first.chunks, first.seconds));
    let phase = server.begin();
    experiment.index(PROJECT, &corpus.root).await?;
    let unchanged = phase.end();
    on_progress(&format!("unchanged: {:.3} s", unchanged.seconds));
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let rate = first.vectors_embedded as f64 / (first.seconds - first.lexical_seconds).max(1e-3);
    Ok(IndexFigures {
        files: first.files,
        chunks: first.chunks,
        vectors: first.vectors_embedded,
        lexical_seconds: first.lexical_seconds,
        seconds: first.seconds,
        vectors_per_second: rounded(rate),
        first: profile,
        unchanged,
    })
}

/// Edits files one by one and waits each time until a search finds the new name.
pub(super) async fn measure_edits(
    experiment: &Experiment,
    project: &Project,
    corpus: &Corpus,
    edits: usize,
    on_progress: &(dyn Fn(&str) + Sync),
) -> Result<EditFigures, Fault> {
    let files = editable(corpus, &paths_with_chunks(experiment, project).await?)?;
    let (mut searchable, mut complete) = (Vec::new(), Vec::new());
    // The first edit is a warm-up and is not counted.
    for edit in 0..=edits {
        let file = files[edit * 7919 % files.len()];
        let Some(name) = insert_name(&*experiment.app.clock, &corpus.root.join(file), edit) else { continue };
        let started = Instant::now();
        let run = async {
            experiment.index(PROJECT, &corpus.root).await?;
            Ok(started.elapsed())
        };
        let (found, ended): (Result<_, Fault>, Result<_, Fault>) =
            tokio::join!(wait_until_found(experiment, &name, started), run);
        if edit > 0 {
            searchable.push(found?);
            complete.push(ended?);
        }
    }
    let edited =
        EditFigures { searchable: Latency::from_times(searchable), complete: Latency::from_times(complete) };
    on_progress(&format!("one file: found after {:.0} ms", edited.searchable.p50_ms));
    Ok(edited)
}

/// Paths of the files that the index did not leave out, as it does lock files and generated ones: only in those can an edit be
/// found.
async fn paths_with_chunks(experiment: &Experiment, project: &Project) -> Result<HashSet<String>, Fault> {
    let mut tx = ProjectTx::begin(experiment.app.store().await?, project, Access::Search).await?;
    let mut paths = HashSet::new();
    for repository in repositories::list(&mut tx).await? {
        let files = files::manifest(&mut tx, repository.id).await?;
        paths.extend(files.into_iter().filter(|file| file.chunks > 0).map(|file| file.path));
    }
    tx.commit().await?;
    Ok(paths)
}

/// The files of the corpus that are in the index and are text.
fn editable<'a>(corpus: &'a Corpus, indexed: &HashSet<String>) -> Result<Vec<&'a PathBuf>, Fault> {
    let is_editable = |file: &&PathBuf| {
        indexed.contains(&*file.to_string_lossy()) && fs::read_to_string(corpus.root.join(file)).is_ok()
    };
    let files: Vec<&PathBuf> = corpus.files.iter().filter(is_editable).collect();
    if files.is_empty() {
        let message = format!("None of the {} files is in the index.", corpus.files.len());
        return Err(Fault::new(ErrorCode::InvalidInput, message)
            .with_hint("Name a folder with source code; lock files and generated files are left out."));
    }
    Ok(files)
}

/// Appends a unique name to a file and returns it; none if the file is not UTF-8.
fn insert_name(clock: &dyn Clock, file: &Path, edit: usize) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    // The time makes it differ from names that earlier benchmarks left in the index.
    let name = format!("zanzibarquux{edit}v{}", clock.now().as_nanosecond());
    fs::write(file, format!("{text}\n// {name} was here\n")).ok()?;
    Some(name)
}

async fn wait_until_found(experiment: &Experiment, name: &str, started: Instant) -> Result<Duration, Fault> {
    loop {
        let answer =
            experiment.call("search", json!({ "query": name, "project_id": PROJECT, "top": 1 })).await?;
        let shown = answer["hits"][0]["snippet"].as_str().unwrap_or_default();
        if shown.contains(name) {
            return Ok(started.elapsed());
        }
        if started.elapsed() > EDIT_TIMEOUT {
            return Err(Fault::internal("An edit was not found.", name.to_owned()));
        }
        tokio::time::sleep(POLL).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::clock::SystemClock;

    #[test]
    fn only_indexed_text_is_edited() {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<PathBuf> = ["a.rs", "image.rs", "uv.lock"].map(PathBuf::from).to_vec();
        for file in &files {
            fs::write(folder.path().join(file), "fn a() {}").unwrap();
        }
        fs::write(folder.path().join("image.rs"), [0xff, 0xfe]).unwrap();
        let corpus = Corpus { root: folder.path().to_owned(), files, bytes: 0 };
        let indexed = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(editable(&corpus, &indexed(&["a.rs", "image.rs"])).unwrap(), [Path::new("a.rs")]);
        assert_eq!(editable(&corpus, &indexed(&[])).unwrap_err().code, ErrorCode::InvalidInput);
    }

    #[test]
    fn an_edit_adds_a_name_that_was_never_there() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.rs");
        fs::write(&file, "fn a() {}").unwrap();
        let (first, second) =
            (insert_name(&SystemClock, &file, 1).unwrap(), insert_name(&SystemClock, &file, 1).unwrap());
        let text = fs::read_to_string(&file).unwrap();
        assert!(
            first != second
                && text.starts_with("fn a() {}")
                && text.contains(&first)
                && text.contains(&second)
        );
        fs::write(&file, [0xff, 0xfe]).unwrap();
        assert_eq!(insert_name(&SystemClock, &file, 2), None);
    }
}
