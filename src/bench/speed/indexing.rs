//! The runs: the first, the one with nothing to do, and one edited file until a search finds what is new in it.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::json;

use super::PROJECT;
use super::corpus::Corpus;
use super::latency::{Latency, rounded};
use super::profile::{Profile, Server};
use crate::bench::Lab;
use contract::Fault;
use contract::clock::Clock;
use engine::indexing::RunReport;

/// Between two looks whether an edit is found.
const LOOK: Duration = Duration::from_millis(5);
/// An edit that is not found after so long is none.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs over all files.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Indexed {
    /// Searchable files.
    pub files: u64,
    /// Their chunks.
    pub chunks: u64,
    /// Distinct texts that got a vector.
    pub vectors: u64,
    /// Until words found everything, in the first run.
    pub lexical_seconds: f64,
    /// The whole first run.
    pub seconds: f64,
    /// Vectors a second once words were searchable.
    pub vectors_per_second: f64,
    /// What the first run used.
    pub first: Profile,
    /// What a run used that found nothing changed.
    pub unchanged: Profile,
}

/// One file edited, indexed and found, over and over.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Edited {
    /// From the start of the run until a search found the new name.
    pub searchable: Latency,
    /// … until the run had ended, vectors included.
    pub complete: Latency,
}

/// Indexes everything, and again.
pub(super) async fn index(
    lab: &Lab,
    corpus: &Corpus,
    server: &Server,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Indexed, Fault> {
    // The model and the database are there before the clock runs, as in a server.
    lab.model().await?;
    let phase = server.begin();
    let first: RunReport = lab.index(PROJECT, &corpus.root).await?;
    let profile = phase.end();
    tell(&format!("first run: {} chunks in {:.1} s", first.chunks, first.seconds));
    let phase = server.begin();
    lab.index(PROJECT, &corpus.root).await?;
    let unchanged = phase.end();
    tell(&format!("unchanged: {:.3} s", unchanged.seconds));
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let rate = first.vectors_embedded as f64 / (first.seconds - first.lexical_seconds).max(1e-3);
    Ok(Indexed {
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

/// Edits files one by one and waits each time until the new name is found.
pub(super) async fn edit(
    lab: &Lab,
    corpus: &Corpus,
    edits: usize,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Edited, Fault> {
    let (mut searchable, mut complete) = (Vec::new(), Vec::new());
    // The first one loads what the others find loaded.
    for edit in 0..=edits {
        let file = &corpus.files[edit * 7919 % corpus.files.len()];
        let Some(name) = inserted(&*lab.app.clock, &corpus.root.join(file), edit) else { continue };
        let started = Instant::now();
        let run = async {
            lab.index(PROJECT, &corpus.root).await?;
            Ok(started.elapsed())
        };
        let (found, ended): (Result<_, Fault>, Result<_, Fault>) =
            tokio::join!(found(lab, &name, started), run);
        if edit > 0 {
            searchable.push(found?);
            complete.push(ended?);
        }
    }
    let edited = Edited { searchable: Latency::of(searchable), complete: Latency::of(complete) };
    tell(&format!("one file: found after {:.0} ms", edited.searchable.p50_ms));
    Ok(edited)
}

/// Writes a name into a file that no other file has; none where the file is no text.
fn inserted(clock: &dyn Clock, file: &Path, edit: usize) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    // Also none that an earlier run left in the index.
    let name = format!("zanzibarquux{edit}v{}", clock.now().as_nanosecond());
    fs::write(file, format!("{text}\n// {name} was here\n")).ok()?;
    Some(name)
}

async fn found(lab: &Lab, name: &str, started: Instant) -> Result<Duration, Fault> {
    loop {
        let answer = lab.call("search", json!({ "query": name, "project_id": PROJECT, "top": 1 })).await?;
        let shown = answer["hits"][0]["snippet"].as_str().unwrap_or_default();
        if shown.contains(name) {
            return Ok(started.elapsed());
        }
        if started.elapsed() > PATIENCE {
            return Err(Fault::internal("An edit was not found.", name.to_owned()));
        }
        tokio::time::sleep(LOOK).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::clock::SystemClock;

    #[test]
    fn an_edit_adds_a_name_that_was_never_there() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.rs");
        fs::write(&file, "fn a() {}").unwrap();
        let (first, second) =
            (inserted(&SystemClock, &file, 1).unwrap(), inserted(&SystemClock, &file, 1).unwrap());
        let text = fs::read_to_string(&file).unwrap();
        assert!(
            first != second
                && text.starts_with("fn a() {}")
                && text.contains(&first)
                && text.contains(&second)
        );
        fs::write(&file, [0xff, 0xfe]).unwrap();
        assert_eq!(inserted(&SystemClock, &file, 2), None);
    }
}
