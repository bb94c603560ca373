//! A project grown to a size, written the way an index run writes.

use std::sync::Arc;
use std::time::Instant;

use futures::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::copies::{Copy, Place, REPOSITORIES, places};
use super::corpus::Corpus;
use super::drawn::Drawn;
use super::machine;
use crate::app::blocking;
use crate::bench::Lab;
use contract::{ErrorCode, Fault, ProjectId};
use engine::indexing::{self, Options, Run};
use engine::jobs::ProgressSender;
use languages::{CHUNKER_VERSION, facts::FACTS_VERSION, terms::TERMS_VERSION};
use store::{
    Access, DecidedBy, Fence, FileWrite, KnownNames, ModelFacts, Project, ProjectTx, RepositoryState,
    Versions, index_state, lexical, repositories, sizes, vectors, write_batch,
};

/// Chunks of a transaction.
const BATCH_CHUNKS: usize = 2_000;
/// Batches made ahead of the writer.
const AHEAD: usize = 3;
/// No run came before, and every later one has a larger token.
const FENCE: Fence = Fence(0);

/// What growing took.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Grown {
    /// Chunks.
    pub chunks: usize,
    /// Texts with a vector of their own.
    pub vectors: i64,
    /// Making the copies and writing their rows, seconds.
    pub rows_seconds: f64,
    /// Counting document frequencies.
    pub statistics_seconds: f64,
    /// The GIN indexes.
    pub terms_index_seconds: f64,
    /// Writing vectors, which cost nothing to make.
    pub vectors_seconds: f64,
    /// The HNSW index; 0 where the product makes none.
    pub hnsw_seconds: f64,
    /// Most that the server's processes took while it was made.
    pub hnsw_server_mb: u64,
    /// Bytes of the project's tables and indexes.
    pub database_mb: u64,
    /// The same by table: rows and indexes.
    pub tables_mb: Vec<(String, u64, u64)>,
    /// Hash of the corpus and of what is made of it.
    pub made_of: String,
}

/// Bytes in megabytes.
pub(super) fn mb(bytes: u64) -> u64 {
    bytes >> 20
}

/// The root of a repository of a grown project; no such folder is there.
pub(super) fn root(repository: usize) -> String {
    format!("/scale/repository_{repository:02}")
}

/// The project with about `wanted` chunks: the one that is there, if it is of the same corpus.
///
/// # Errors
/// Storage faults.
pub(super) async fn grow(
    lab: &Lab,
    corpus: &Arc<Corpus>,
    drawn: &Arc<Drawn>,
    wanted: usize,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<(Project, Grown), Fault> {
    let id = format!("scale-{wanted}");
    let record = lab.home().join(format!("{id}.json"));
    let made_of = format!("{} 2", corpus.fingerprint);
    let text = std::fs::read_to_string(&record).unwrap_or_default();
    if let Ok(grown) = serde_json::from_str::<Grown>(&text)
        && grown.made_of == made_of
        && let Ok(project) = lab.project(&id).await
    {
        tell(&format!("{id}: {} chunks are there", grown.chunks));
        return Ok((project, grown));
    }
    let project = empty(lab, &id).await?;
    let grown = Growing { lab, corpus, drawn, project: &project, tell }.run(wanted, made_of).await?;
    let text = serde_json::to_string(&grown).unwrap_or_default();
    std::fs::write(&record, text)
        .map_err(|error| Fault::internal("What growing took cannot be kept.", error))?;
    Ok((project, grown))
}

async fn empty(lab: &Lab, id: &str) -> Result<Project, Fault> {
    if lab.project(id).await.is_ok() {
        return Err(Fault::new(
            ErrorCode::IllegalState,
            format!("The project `{id}` of the benchmark is of another corpus."),
        )
        .with_hint("Remove the folder `bench` below the home."));
    }
    let model = ModelFacts::of(lab.app.embedder().await?.model());
    tenancy::provision(lab.app.store().await?, &ProjectId::parse(id)?, DecidedBy::Argument, &model).await
}

struct Growing<'a> {
    lab: &'a Lab,
    corpus: &'a Arc<Corpus>,
    drawn: &'a Arc<Drawn>,
    project: &'a Project,
    tell: &'a (dyn Fn(&str) + Sync),
}

impl Growing<'_> {
    async fn run(&self, wanted: usize, made_of: String) -> Result<Grown, Fault> {
        let store = self.lab.app.store().await?;
        let memory_mb = self.lab.app.config.embedded.maintenance_work_mem_mb;
        let started = Instant::now();
        let chunks = self.write_rows(wanted).await?;
        let rows_seconds = self.lap("rows", started);

        let started = Instant::now();
        let mut tx = self.begin().await?;
        tx.lift_timeout().await?;
        index_state::publish(&mut tx, FENCE).await?;
        lexical::rebuild_statistics(&mut tx, FENCE).await?;
        tx.commit().await?;
        let statistics_seconds = self.lap("statistics", started);

        let started = Instant::now();
        lexical::ensure_terms_index(store, self.project, FENCE, memory_mb).await?;
        let terms_index_seconds = self.lap("terms index", started);

        let started = Instant::now();
        self.write_vectors().await?;
        self.drawn.forget();
        let vectors_seconds = self.lap("vectors", started);

        let started = Instant::now();
        let rows_min = self.lab.app.config.indexing.hnsw_rows_min;
        let building = vectors::ensure_hnsw(store, self.project, FENCE, rows_min, memory_mb);
        let (built, peak) = machine::peak_of(self.lab, building).await?;
        let hnsw_seconds = if built { self.lap("HNSW index", started) } else { 0.0 };

        let mut tx = self.begin().await?;
        let (vectors, tables) = (vectors::count(&mut tx).await?, sizes::tables(&mut tx).await?);
        let database_mb = mb(sizes::total(&mut tx).await?);
        tx.commit().await?;
        let tables = tables.into_iter().map(|table| (table.table, mb(table.bytes), mb(table.index_bytes)));
        Ok(Grown {
            chunks,
            vectors,
            rows_seconds,
            statistics_seconds,
            terms_index_seconds,
            vectors_seconds,
            hnsw_seconds,
            hnsw_server_mb: if built { mb(peak) } else { 0 },
            database_mb,
            tables_mb: tables.filter(|(_, rows, indexes)| rows + indexes > 0).collect(),
            made_of,
        })
    }

    fn lap(&self, what: &str, started: Instant) -> f64 {
        let seconds = (started.elapsed().as_secs_f64() * 1e3).round() / 1e3;
        (self.tell)(&format!("{}: {what} in {seconds:.1} s", self.project.id().as_str()));
        seconds
    }

    async fn begin(&self) -> Result<ProjectTx, Fault> {
        ProjectTx::begin(self.lab.app.store().await?, self.project, Access::Write).await
    }

    /// Writes repositories, files and chunks; returns how many chunks.
    async fn write_rows(&self, wanted: usize) -> Result<usize, Fault> {
        let files = &self.corpus.files;
        let sizes: Vec<(&str, usize)> =
            files.iter().map(|file| (file.path.as_str(), file.chunks.len())).collect();
        let batches = batches(&places(&sizes, wanted), &sizes);
        let repositories = self.make_repositories().await?;
        let make = |places: Vec<Place>| {
            let (corpus, drawn) = (Arc::clone(self.corpus), Arc::clone(self.drawn));
            blocking(move || Ok((places[0].repository, copied(&corpus, &drawn, &places))))
        };
        let mut made = stream::iter(batches).map(make).buffered(AHEAD);
        let (mut known, mut chunks) = (KnownNames::default(), 0);
        while let Some(batch) = made.next().await {
            let (repository, files) = batch?;
            let mut tx = self.begin().await?;
            let written = write_batch(&mut tx, FENCE, repositories[repository], &files, &mut known).await?;
            tx.commit().await?;
            let before = chunks;
            chunks += usize::try_from(written.chunks).unwrap_or(0);
            if before * 10 / wanted < chunks * 10 / wanted {
                (self.tell)(&format!("{}: {chunks} chunks", self.project.id().as_str()));
            }
        }
        self.settle(&repositories).await?;
        Ok(chunks)
    }

    async fn make_repositories(&self) -> Result<Vec<i64>, Fault> {
        let mut tx = self.begin().await?;
        let mut ids = Vec::with_capacity(REPOSITORIES);
        for repository in 0..REPOSITORIES {
            let name = format!("repository_{repository:02}");
            ids.push(repositories::ensure(&mut tx, FENCE, &root(repository), &name, versions()).await?);
        }
        tx.commit().await?;
        Ok(ids)
    }

    async fn settle(&self, repositories: &[i64]) -> Result<(), Fault> {
        let mut tx = self.begin().await?;
        let (report, ready) = (serde_json::Value::Null, RepositoryState::Ready);
        for id in repositories {
            repositories::set_report(&mut tx, FENCE, *id, ready, versions(), &report).await?;
        }
        tx.commit().await
    }

    /// The product's own way to vectors, but for the index, which is timed by itself.
    async fn write_vectors(&self) -> Result<(), Fault> {
        let app = &self.lab.app;
        let mut config = app.config.clone();
        config.indexing.hnsw_rows_min = u64::MAX;
        let embedder: Arc<dyn embedding::Embedder> = Arc::clone(self.drawn) as _;
        let run = Run {
            store: app.store().await?,
            project: self.project,
            fence: FENCE,
            root: self.lab.home(),
            options: Options::default(),
            embedder: Some(embedder),
            parsing: &app.parsing,
            dictionary: None,
            config: &config,
            clock: &*app.clock,
            cancel: &CancellationToken::new(),
            progress: &ProgressSender::default(),
        };
        indexing::embed(&run).await?;
        Ok(())
    }
}

fn versions() -> Versions {
    let (rules, dictionary) = ([0; 32], [0; 32]);
    Versions {
        chunker: CHUNKER_VERSION,
        terms: TERMS_VERSION,
        facts: FACTS_VERSION,
        rules,
        dictionary,
        settings: [0; 32],
    }
}

/// The copies of files, whose texts `drawn` knows from now on.
fn copied(corpus: &Corpus, drawn: &Drawn, places: &[Place]) -> Vec<FileWrite> {
    let copy = |place: &Place| {
        let copy = Copy { number: place.copy, vocabulary: &corpus.vocabulary };
        let file = copy.file(&corpus.files[place.file]);
        let first = corpus.first[place.file];
        let hashes = file.chunks.iter().enumerate();
        drawn.note(hashes.map(|(at, chunk)| (chunk.content_hash, (place.copy, place.file, first + at))));
        file
    };
    places.iter().map(copy).collect()
}

/// Places in order, cut where a batch is full or another repository begins.
fn batches(places: &[Place], sizes: &[(&str, usize)]) -> Vec<Vec<Place>> {
    let mut batches: Vec<Vec<Place>> = Vec::new();
    let mut chunks = 0;
    for place in places {
        let size = sizes[place.file].1;
        match batches.last_mut() {
            Some(batch) if batch[0].repository == place.repository && chunks + size <= BATCH_CHUNKS => {
                chunks += size;
                batch.push(*place);
            }
            _ => {
                chunks = size;
                batches.push(vec![*place]);
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_of_one_repository_and_bounded() {
        let place = |repository| Place { copy: 0, file: 0, repository };
        let sizes = [("a", 900)];
        let cut: Vec<usize> = batches(&[0, 0, 0, 1, 1].map(place), &sizes).iter().map(Vec::len).collect();
        assert_eq!(cut, [2, 1, 2]);
        assert!(batches(&[], &sizes).is_empty());
    }
}
