//! Index runs: the first one, an unchanged one, and edits of single files until a search finds the change.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::json;

use super::PROJECT;
use super::corpus::Corpus;
use super::latency::{Latency, rounded};
use super::profile::{PostgresServer, Profile};
use crate::Experiment;
use contract::clock::Clock;
use contract::{ErrorCode, Fault};
use engine::indexing::RunReport;
use store::{Access, Project, ProjectTx, chunks, files, repositories};

/// Interval of searches for an edit.
const POLL: Duration = Duration::from_millis(5);

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
    /// Until the first hit of a search for the new name was the edit, and the answer was trusted.
    pub searchable: Latency,
    /// Until the run ended, including vectors.
    pub complete: Latency,
    /// Number of files that were tried as well, whose edits the index leaves out.
    pub left_out: usize,
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

/// Edits files one by one and waits each time until the first hit of a search is the edit. A file whose edit the index leaves out,
/// as it does in documents that are extracted, is replaced by another one.
pub(super) async fn measure_edits(
    experiment: &Experiment,
    project: &Project,
    corpus: &Corpus,
    edits: usize,
    on_progress: &(dyn Fn(&str) + Sync),
) -> Result<EditFigures, Fault> {
    let indexed = paths_with_chunks(experiment, project).await?;
    let mut files = if edits > 0 { editable(corpus, &indexed)? } else { Vec::new() };
    let (mut searchable, mut complete, mut left_out) = (Vec::new(), Vec::new(), 0);
    // The first edit is a warm-up and is not counted.
    let mut edit = 0;
    while edits > 0 && edit <= edits {
        if files.is_empty() {
            let message = format!("No edit of a file in {} gets into the index.", corpus.root.display());
            return Err(Fault::new(ErrorCode::InvalidInput, message)
                .with_hint("Name a folder with source code, or leave the edits out with `--edits 0`."));
        }
        let at = edit * 7919 % files.len();
        let edited = Edit { experiment, project, corpus, file: files[at] };
        match edited.measure(edit).await? {
            Some(took) if edit > 0 => {
                searchable.push(took.searchable);
                complete.push(took.complete);
            }
            Some(_) => {}
            None => {
                files.swap_remove(at);
                left_out += 1;
                continue;
            }
        }
        edit += 1;
    }
    let edited = EditFigures {
        searchable: Latency::from_times(searchable),
        complete: Latency::from_times(complete),
        left_out,
    };
    on_progress(&format!("one file: found after {:.0} ms", edited.searchable.p50_ms));
    Ok(edited)
}

/// An edit of a file.
struct Edit<'a> {
    experiment: &'a Experiment,
    project: &'a Project,
    corpus: &'a Corpus,
    file: &'a Path,
}

/// Durations of an edit.
struct EditTimes {
    searchable: Duration,
    complete: Duration,
}

impl Edit<'_> {
    /// Adds a name to the file and indexes it; `None` if the index leaves the edit out, which is then undone.
    async fn measure(&self, edit: usize) -> Result<Option<EditTimes>, Fault> {
        let path = self.corpus.root.join(self.file);
        let text = self.corpus.text(self.file);
        let Some(name) = insert_name(&*self.experiment.app.clock, &path, edit) else { return Ok(None) };
        let (started, has_ended) = (Instant::now(), AtomicBool::new(false));
        let run = async {
            let run = self.experiment.index(PROJECT, &self.corpus.root).await;
            has_ended.store(true, Ordering::Relaxed);
            run.map(|_| started.elapsed())
        };
        let (found, complete) = tokio::join!(self.wait_until_found(&name, started, &has_ended), run);
        let complete = complete?;
        if let Some(searchable) = found? {
            return Ok(Some(EditTimes { searchable, complete }));
        }
        if self.is_indexed(&name).await? {
            let message = format!("The edit of {} was not found.", self.file.display());
            return Err(Fault::new(ErrorCode::Internal, message)
                .with_details(json!({ "file": self.file.to_string_lossy(), "word": name })));
        }
        fs::write(&path, text).map_err(|error| {
            Fault::internal(format!("{} could not be written.", self.file.display()), error)
        })?;
        self.experiment.index(PROJECT, &self.corpus.root).await?;
        Ok(None)
    }

    /// Searches until the first hit is the edit and is trusted; `None` if it is not when the run has ended.
    async fn wait_until_found(
        &self,
        name: &str,
        started: Instant,
        has_ended: &AtomicBool,
    ) -> Result<Option<Duration>, Fault> {
        let file = self.file.to_string_lossy();
        loop {
            let is_last = has_ended.load(Ordering::Relaxed);
            let arguments = json!({ "query": name, "project_id": PROJECT, "top": 1 });
            let answer = self.experiment.call("search", arguments).await?;
            let first = &answer["hits"][0];
            let is_edit =
                first["file"] == *file && first["snippet"].as_str().unwrap_or_default().contains(name);
            if is_edit && matches!(answer["confidence"].as_str(), Some("medium" | "high")) {
                return Ok(Some(started.elapsed()));
            }
            if is_last {
                return Ok(None);
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Returns `true` if a chunk of the file has the name.
    async fn is_indexed(&self, name: &str) -> Result<bool, Fault> {
        let mut tx =
            ProjectTx::begin(self.experiment.app.store().await?, self.project, Access::Search).await?;
        let mut texts = Vec::new();
        for repository in repositories::list(&mut tx).await? {
            if let Some(file) = files::get(&mut tx, repository.id, &self.file.to_string_lossy()).await? {
                texts.extend(chunks::contents_of_file(&mut tx, file.id).await?);
            }
        }
        tx.commit().await?;
        Ok(texts.iter().any(|(_, text)| text.contains(name)))
    }
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
fn editable<'a>(corpus: &'a Corpus, indexed: &HashSet<String>) -> Result<Vec<&'a Path>, Fault> {
    let is_editable = |file: &&PathBuf| {
        indexed.contains(&*file.to_string_lossy()) && fs::read_to_string(corpus.root.join(file)).is_ok()
    };
    let files: Vec<&Path> = corpus.files.iter().filter(is_editable).map(PathBuf::as_path).collect();
    if files.is_empty() {
        let message = format!("None of the {} files is in the index.", corpus.files.len());
        return Err(Fault::new(ErrorCode::InvalidInput, message)
            .with_hint("Name a folder with source code; lock files and generated files are left out."));
    }
    Ok(files)
}

/// Appends a unique name to a file and returns it; `None` if the file is not UTF-8.
fn insert_name(clock: &dyn Clock, file: &Path, edit: usize) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    // The time makes it differ from names that earlier benchmarks left in the index.
    let name = format!("zanzibarquux{edit}v{}", clock.now().as_nanosecond());
    fs::write(file, format!("{text}\n// {name} was here\n")).ok()?;
    Some(name)
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
