//! Generates a project of a given size, written the way an index run writes it.

use std::sync::Arc;
use std::time::Instant;

use futures::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::copies::{CorpusCopy, FileCopy, REPOSITORIES, file_copies};
use super::corpus::Corpus;
use super::machine;
use super::synthetic_vectors::SyntheticVectors;
use crate::Experiment;
use contract::{ErrorCode, Fault, ProjectId};
use engine::indexing::{self, Options, RunContext};
use engine::jobs::ProgressSender;
use gate::app::blocking;
use languages::{CHUNKER_VERSION, facts::FACTS_VERSION, terms::TERMS_VERSION};
use store::{
    Access, DecidedBy, Fence, FileWrite, KnownNames, ModelFacts, Project, ProjectTx, RepositoryState,
    Versions, index_state, lexical, repositories, sizes, statistics, vectors, write_batch,
};

/// Maximum number of chunks in a transaction.
const BATCH_CHUNKS: usize = 2_000;
/// Number of batches that are generated ahead of the writer.
const AHEAD: usize = 3;
/// The fence token of a project without runs; every later run has a larger one.
const FENCE: Fence = Fence(0);

/// The cost of generating a project.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GrowthFigures {
    /// Number of chunks.
    pub chunks: usize,
    /// Number of distinct vectors.
    pub vectors: i64,
    /// Seconds to generate the copies and write their rows.
    pub rows_seconds: f64,
    /// Seconds to count the document frequencies.
    pub statistics_seconds: f64,
    /// Seconds to build the GIN indexes.
    pub terms_index_seconds: f64,
    /// Seconds to write the vectors.
    pub vectors_seconds: f64,
    /// Seconds to build the HNSW index; 0 if none is built.
    pub hnsw_seconds: f64,
    /// Peak memory of Postgres while the HNSW index was built.
    pub hnsw_server_mb: u64,
    /// Size of the project's tables and indexes.
    pub database_mb: u64,
    /// Size of each table: rows and indexes.
    pub tables_mb: Vec<(String, u64, u64)>,
    /// Hash of the corpus and version of the generator.
    pub made_of: String,
}

/// Converts bytes to mebibytes.
pub(super) fn mb(bytes: u64) -> u64 {
    bytes >> 20
}

/// The root of a generated repository; the folder does not exist.
pub(super) fn repository_root(repository: usize) -> String {
    format!("/scale/repository_{repository:02}")
}

/// Returns the project with about `wanted` chunks; reuses an existing one from the same corpus.
///
/// # Errors
/// Storage faults.
pub(super) async fn grow(
    experiment: &Experiment,
    corpus: &Arc<Corpus>,
    synthetic: &Arc<SyntheticVectors>,
    wanted: usize,
    on_progress: &(dyn Fn(&str) + Sync),
) -> Result<(Project, GrowthFigures), Fault> {
    let id = format!("scale-{wanted}");
    let record = experiment.home().join(format!("{id}.json"));
    // 2 is the version of the generator; increase it when the generated rows change.
    let made_of = format!("{} 2", corpus.fingerprint);
    let text = std::fs::read_to_string(&record).unwrap_or_default();
    if let Ok(grown) = serde_json::from_str::<GrowthFigures>(&text)
        && grown.made_of == made_of
        && let Ok(project) = experiment.project(&id).await
    {
        on_progress(&format!("{id}: reusing {} chunks", grown.chunks));
        return Ok((project, grown));
    }
    let project = provision_empty(experiment, &id).await?;
    let generator = ProjectGenerator { experiment, corpus, synthetic, project: &project, on_progress };
    let grown = generator.generate(wanted, made_of).await?;
    let text = serde_json::to_string(&grown).unwrap_or_default();
    std::fs::write(&record, text).map_err(|error| {
        Fault::internal("The figures of the generated project could not be saved.", error)
    })?;
    Ok((project, grown))
}

async fn provision_empty(experiment: &Experiment, id: &str) -> Result<Project, Fault> {
    if experiment.project(id).await.is_ok() {
        return Err(Fault::new(
            ErrorCode::IllegalState,
            format!("The benchmark project `{id}` is incomplete or was generated from another corpus."),
        )
        .with_hint("Remove the folder `bench` in the data directory."));
    }
    let model = ModelFacts::from(experiment.app.embedder().await?.model());
    tenancy::provision(experiment.app.store().await?, &ProjectId::parse(id)?, DecidedBy::Argument, &model)
        .await
}

struct ProjectGenerator<'a> {
    experiment: &'a Experiment,
    corpus: &'a Arc<Corpus>,
    synthetic: &'a Arc<SyntheticVectors>,
    project: &'a Project,
    on_progress: &'a (dyn Fn(&str) + Sync),
}

impl ProjectGenerator<'_> {
    async fn generate(&self, wanted: usize, made_of: String) -> Result<GrowthFigures, Fault> {
        let store = self.experiment.app.store().await?;
        let memory_mb = self.experiment.app.config.embedded.maintenance_work_mem_mb;
        let started = Instant::now();
        let chunks = self.write_rows(wanted).await?;
        let rows_seconds = self.report_step("rows", started);

        let started = Instant::now();
        let mut tx = self.begin().await?;
        tx.lift_timeout().await?;
        index_state::publish(&mut tx, FENCE).await?;
        statistics::rebuild_all(&mut tx, FENCE).await?;
        tx.commit().await?;
        let statistics_seconds = self.report_step("statistics", started);

        let started = Instant::now();
        lexical::ensure_terms_index(store, self.project, FENCE, memory_mb).await?;
        let terms_index_seconds = self.report_step("terms index", started);

        let started = Instant::now();
        self.write_vectors().await?;
        self.synthetic.clear();
        let vectors_seconds = self.report_step("vectors", started);

        let started = Instant::now();
        let rows_min = self.experiment.app.config.indexing.hnsw_rows_min;
        let building = vectors::ensure_hnsw(store, self.project, FENCE, rows_min, memory_mb);
        let (built, peak) = machine::with_peak_memory(self.experiment, building).await?;
        let hnsw_seconds = if built { self.report_step("HNSW index", started) } else { 0.0 };

        let mut tx = self.begin().await?;
        let (vectors, tables) = (vectors::count(&mut tx).await?, sizes::tables(&mut tx).await?);
        let database_mb = mb(sizes::total(&mut tx).await?);
        tx.commit().await?;
        let tables = tables.into_iter().map(|table| (table.table, mb(table.bytes), mb(table.index_bytes)));
        Ok(GrowthFigures {
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

    /// Reports a finished step and returns its seconds.
    fn report_step(&self, step: &str, started: Instant) -> f64 {
        let seconds = (started.elapsed().as_secs_f64() * 1e3).round() / 1e3;
        (self.on_progress)(&format!("{}: {step} in {seconds:.1} s", self.project.id().as_str()));
        seconds
    }

    async fn begin(&self) -> Result<ProjectTx, Fault> {
        ProjectTx::begin(self.experiment.app.store().await?, self.project, Access::Write).await
    }

    /// Writes repositories, files and chunks; returns how many chunks.
    async fn write_rows(&self, wanted: usize) -> Result<usize, Fault> {
        let files = &self.corpus.files;
        let sizes: Vec<(&str, usize)> =
            files.iter().map(|file| (file.path.as_str(), file.chunks.len())).collect();
        let batches = batches(&file_copies(&sizes, wanted), &sizes);
        let repositories = self.make_repositories().await?;
        let make = |file_copies: Vec<FileCopy>| {
            let (corpus, synthetic) = (Arc::clone(self.corpus), Arc::clone(self.synthetic));
            blocking(move || Ok((file_copies[0].repository, copy_files(&corpus, &synthetic, &file_copies))))
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
                (self.on_progress)(&format!("{}: {chunks} chunks", self.project.id().as_str()));
            }
        }
        self.mark_ready(&repositories).await?;
        Ok(chunks)
    }

    async fn make_repositories(&self) -> Result<Vec<i64>, Fault> {
        let mut tx = self.begin().await?;
        let mut ids = Vec::with_capacity(REPOSITORIES);
        for repository in 0..REPOSITORIES {
            let name = format!("repository_{repository:02}");
            ids.push(
                repositories::ensure(&mut tx, FENCE, &repository_root(repository), &name, versions()).await?,
            );
        }
        tx.commit().await?;
        Ok(ids)
    }

    async fn mark_ready(&self, repositories: &[i64]) -> Result<(), Fault> {
        let mut tx = self.begin().await?;
        let (report, ready) = (serde_json::Value::Null, RepositoryState::Ready);
        for id in repositories {
            repositories::set_report(&mut tx, FENCE, *id, ready, versions(), &report).await?;
        }
        tx.commit().await
    }

    /// Writes the vectors as an index run does, but without the HNSW index, which is measured separately.
    async fn write_vectors(&self) -> Result<(), Fault> {
        let app = &self.experiment.app;
        let mut config = app.config.clone();
        config.indexing.hnsw_rows_min = u64::MAX;
        let embedder: Arc<dyn embedding::Embedder> = Arc::clone(self.synthetic) as _;
        let run = RunContext {
            store: app.store().await?,
            project: self.project,
            fence: FENCE,
            root: self.experiment.home(),
            tree: &indexing::FileTree::Directory,
            revisions: &[],
            options: Options::default(),
            embedder: Some(embedder),
            parsing: &app.parsing,
            interfaces: &app.interfaces,
            dictionary: None,
            config: &config,
            clock: &*app.clock,
            cancel: &CancellationToken::new(),
            progress: &ProgressSender::default(),
        };
        indexing::embed_project(&run).await?;
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

/// Copies files and registers their texts in `synthetic`.
fn copy_files(corpus: &Corpus, synthetic: &SyntheticVectors, file_copies: &[FileCopy]) -> Vec<FileWrite> {
    let copy = |file_copy: &FileCopy| {
        let copy = CorpusCopy { number: file_copy.copy, vocabulary: &corpus.vocabulary };
        let file = copy.file(&corpus.files[file_copy.file]);
        let first = corpus.first[file_copy.file];
        let hashes = file.chunks.iter().enumerate();
        synthetic.register(
            hashes.map(|(at, chunk)| (chunk.content_hash, (file_copy.copy, file_copy.file, first + at))),
        );
        file
    };
    file_copies.iter().map(copy).collect()
}

/// Splits copies into batches of bounded size, each in one repository.
fn batches(file_copies: &[FileCopy], sizes: &[(&str, usize)]) -> Vec<Vec<FileCopy>> {
    let mut batches: Vec<Vec<FileCopy>> = Vec::new();
    let mut chunks = 0;
    for file_copy in file_copies {
        let size = sizes[file_copy.file].1;
        match batches.last_mut() {
            Some(batch) if batch[0].repository == file_copy.repository && chunks + size <= BATCH_CHUNKS => {
                chunks += size;
                batch.push(*file_copy);
            }
            _ => {
                chunks = size;
                batches.push(vec![*file_copy]);
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
        let file_copy = |repository| FileCopy { copy: 0, file: 0, repository };
        let sizes = [("a", 900)];
        let cut: Vec<usize> = batches(&[0, 0, 0, 1, 1].map(file_copy), &sizes).iter().map(Vec::len).collect();
        assert_eq!(cut, [2, 1, 2]);
        assert!(batches(&[], &sizes).is_empty());
    }
}
