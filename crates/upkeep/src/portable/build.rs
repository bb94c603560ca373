//! Writes a portable file from one snapshot of a project's rows, page by page, so that memory is bounded.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::replacement::{Replacement, measure, write_fault};
use contract::clock::{Clock, iso_seconds};
use contract::config;
use contract::{ErrorCode, Fault};
use platform::disk_space::DiskSpace;
use platform::task::blocking;
use store::portable::{
    ArtifactCommit, FileStamp, Limits, Meta, RewrittenRows, RowCounts, Writer, is_portable,
};
use store::{
    self, Access, IndexState, Project, ProjectTx, RepositoryRow, RepositoryState, Store, index_state, pages,
    repositories,
};

/// Rows of a small table that are read at a time.
const SMALL_ROWS: i64 = 20_000;
/// Maximum number of characters of a repository's name in a file name.
const REPOSITORY_CHARS_MAX: usize = 60;

/// The files of an index that the portable file contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IndexPart {
    /// All files.
    #[default]
    All,
    /// Code, configuration and data.
    Code,
    /// Documents.
    Prose,
    /// Code that has comments.
    ExtractedProse,
    /// Records.
    Records,
}

impl IndexPart {
    /// Returns the name in file names and in the file's metadata.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Code => "code",
            Self::Prose => "prose",
            Self::ExtractedProse => "extracted-prose",
            Self::Records => "records",
        }
    }

    fn rows(self, repository_id: Option<i64>) -> store::ProjectPart {
        let modes: &[&str] = match self {
            Self::All => &["code", "prose", "records"],
            Self::Code | Self::ExtractedProse => &["code"],
            Self::Prose => &["prose"],
            Self::Records => &["records"],
        };
        let modes = modes.iter().map(|mode| (*mode).to_owned()).collect();
        store::ProjectPart { repository_id, modes, commented: self == Self::ExtractedProse }
    }
}

/// The contents and the path of a portable file to build.
pub struct BuildRequest<'a> {
    /// The database.
    pub store: &'a Store,
    /// The project.
    pub project: &'a Project,
    /// Root of the only repository to write; `None`: all.
    pub root: Option<&'a str>,
    /// The files of the index that are written.
    pub part: IndexPart,
    /// Path of the portable file.
    pub out: &'a Path,
    /// Update the existing file instead of writing a new one.
    pub incremental: bool,
    /// Compact the file at the end.
    pub compact: bool,
    /// The settings `portable.*`.
    pub settings: &'a config::Portable,
    /// Source of the time that the file records.
    pub clock: &'a dyn Clock,
    /// Fires when the call is cancelled.
    pub cancel: &'a CancellationToken,
    /// Called with the number of written files and of all files.
    pub progress: &'a (dyn Fn(u64, u64) + Send + Sync),
}

/// The result of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildReport {
    /// Rows of the file.
    pub rows: RowCounts,
    /// Indexed files whose chunks this run wrote.
    pub files_written: u64,
    /// Size of the file.
    pub bytes: u64,
    /// SHA-256 of the file, hexadecimal.
    pub sha256: String,
    /// The reason why a new file was written although an update was requested.
    pub fallback: Option<String>,
}

/// Returns the default file name.
#[must_use]
pub fn portable_file_name(part: IndexPart, repository: Option<&str>) -> String {
    let mut name = "index".to_owned();
    if part != IndexPart::All {
        name.push('-');
        name.push_str(part.as_str());
    }
    if let Some(repository) = repository {
        name.push('-');
        name.push_str(&plain_name(repository, REPOSITORY_CHARS_MAX));
    }
    name.push_str(".sqlite");
    name
}

/// Returns the name of a repository as a part of a file name.
pub(super) fn plain_name(repository: &str, chars_max: usize) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "._-".contains(c) { c } else { '_' };
    repository.chars().map(plain).take(chars_max).collect()
}

/// Writes the file and replaces the old one atomically.
///
/// # Errors
/// `NO_INDEX` if there is nothing to write; `ILLEGAL_STATE` if another run is writing the file, or the existing file is
/// not a portable file; `CANCELLED`; storage faults.
pub async fn build_portable(build: &BuildRequest<'_>) -> Result<BuildReport, Fault> {
    build_file(build, None).await
}

/// The state of a repository that was compared with a commit.
pub(super) struct ComparedState<'a> {
    /// The commit.
    pub(super) commit: &'a ArtifactCommit,
    /// Number of complete runs of the repository at that time.
    pub(super) generation: i64,
}

impl ComparedState<'_> {
    /// Refuses a repository that a run has changed since, or is changing.
    fn require(&self, repository: Option<&RepositoryRow>) -> Result<(), Fault> {
        let is_same =
            |row: &RepositoryRow| row.state == RepositoryState::Ready && row.generation == self.generation;
        if repository.is_some_and(is_same) {
            return Ok(());
        }
        Err(Fault::new(ErrorCode::IllegalState, "The repository is being indexed again.")
            .with_hint("Wait until that run is done and run again."))
    }
}

/// Like [`build_portable`]. If a commit is given, the file is built for it, and its checksum is written beside it.
pub(super) async fn build_file(
    build: &BuildRequest<'_>,
    compared: Option<&ComparedState<'_>>,
) -> Result<BuildReport, Fault> {
    let disk_space = build.store.disk_space().with_volume("the portable file", build.out);
    // An update starts from a copy of the existing file.
    let copied =
        if build.incremental { std::fs::metadata(build.out).map_or(0, |facts| facts.len()) } else { 0 };
    disk_space.require(copied).await?;
    let out = build.out.to_owned();
    let replacement = Arc::new(blocking(move || Replacement::begin(&out)).await?);
    let mut tx = ProjectTx::begin(build.store, build.project, Access::Snapshot).await?;
    tx.lift_timeout().await?;
    let source = IndexSource::read(&mut tx, build, compared).await?;
    let (writer, changes, fallback) = source.begin(build, &replacement).await?;
    let files_done = changes.kept.len() as u64;
    let mut run = BuildRun { build, source: &source, disk_space, writer: Some(writer), files_done };
    run.write_chunks(&mut tx, &changes).await?;
    run.write_small_tables(&mut tx, &changes).await?;
    tx.commit().await?;
    let rows = run.finish().await?;
    let (compact, limits, stop) = (build.compact, Limits::from(build.settings), build.cancel.clone());
    let (out, is_of_commit) = (build.out.to_owned(), compared.is_some());
    let (bytes, sha256) = blocking(move || {
        let mut complete = replacement.new_file();
        if compact {
            Writer::update(complete, limits, &stop)?.compact(replacement.compacted_file())?;
            complete = replacement.compacted_file();
        }
        if is_of_commit {
            return replacement.commit_with_checksum(complete);
        }
        replacement.commit(complete)?;
        measure(&out)
    })
    .await?;
    let files_written = changes.written.len() as u64;
    Ok(BuildReport { rows, files_written, bytes, sha256, fallback })
}

/// The rows that the file is written from.
struct IndexSource {
    part: store::ProjectPart,
    state: IndexState,
    repositories: Vec<RepositoryRow>,
    stamps: Vec<FileStamp>,
    meta: Meta,
}

impl IndexSource {
    async fn read(
        tx: &mut ProjectTx,
        build: &BuildRequest<'_>,
        compared: Option<&ComparedState<'_>>,
    ) -> Result<Self, Fault> {
        let state = index_state::read(tx).await?;
        let mut repositories = repositories::list(tx).await?;
        if let Some(root) = build.root {
            repositories.retain(|repository| repository.root == root);
        }
        let repository = build.root.and_then(|_| repositories.first());
        compared.map_or(Ok(()), |compared| compared.require(repository))?;
        let part = build.part.rows(repository.map(|repository| repository.id));
        let stamps = if repositories.is_empty() { Vec::new() } else { pages::stamps(tx, &part).await? };
        if stamps.is_empty() {
            let message = format!("Nothing is indexed that a file of `{}` could hold.", build.part.as_str());
            return Err(Fault::new(ErrorCode::NoIndex, message)
                .with_hint("Index the repository first (`build_index`), or ask for mode `all`."));
        }
        let meta = Meta {
            project: build.project.id().public().map(str::to_owned),
            repository: repository.map(|repository| repository.name.clone()),
            mode: build.part.as_str().to_owned(),
            model: build.project.model().clone(),
            built_at: iso_seconds(build.clock.now().as_second()),
            generation: state.generation,
            updated_ms: state.updated_ms,
            statistics_chunks: state.statistics_chunks,
            commit: compared.map(|compared| compared.commit.clone()),
        };
        Ok(Self { part, state, repositories, stamps, meta })
    }

    /// Opens the file to write and determines the changes; the third value is the reason why an update was not
    /// possible.
    async fn begin(
        &self,
        build: &BuildRequest<'_>,
        replacement: &Arc<Replacement>,
    ) -> Result<(Writer, Changes, Option<String>), Fault> {
        let (limits, stop) = (Limits::from(build.settings), build.cancel.clone());
        let mut fallback = None;
        if build.incremental {
            let (replacement, out, meta, stamps) =
                (Arc::clone(replacement), build.out.to_owned(), self.meta.clone(), self.stamps.clone());
            let (percent, stop) = (build.settings.changed_percent_max, stop.clone());
            let updated =
                blocking(move || update(&replacement, &out, &meta, &stamps, percent, limits, &stop)).await?;
            match updated {
                Ok((writer, changes)) => return Ok((writer, changes, None)),
                Err(reason) => fallback = Some(reason),
            }
        }
        let replacement = Arc::clone(replacement);
        let changes = Changes { written: self.stamps.clone(), kept: Vec::new(), is_update: false };
        let writer = blocking(move || Writer::create(replacement.new_file(), limits, &stop)).await?;
        tracing::debug!(chunks = self.state.chunks, ?fallback, "writing a new portable file");
        Ok((writer, changes, fallback))
    }
}

/// The indexed files that a build writes and those that it keeps.
struct Changes {
    /// Files to write with their chunks.
    written: Vec<FileStamp>,
    /// Ids of files whose chunks are kept.
    kept: Vec<i64>,
    /// `true` if an existing file is updated.
    is_update: bool,
}

/// Splits files into batches with at most `page_chunks` chunks each; a larger file is a batch of its own.
fn batches(stamps: Vec<FileStamp>, page_chunks: usize) -> Vec<Vec<FileStamp>> {
    let page_chunks = i64::try_from(page_chunks.max(1)).unwrap_or(i64::MAX);
    let (mut batches, mut chunks): (Vec<Vec<FileStamp>>, i64) = (Vec::new(), i64::MAX);
    for stamp in stamps {
        // A file without chunks still has a row.
        let more = stamp.chunks.max(1);
        match batches.last_mut() {
            Some(batch) if chunks.saturating_add(more) <= page_chunks => {
                batch.push(stamp);
                chunks += more;
            }
            _ => {
                batches.push(vec![stamp]);
                chunks = more;
            }
        }
    }
    batches
}

/// Prepares a copy of the existing file for an update; the inner error is the reason why it cannot be updated.
fn update(
    replacement: &Replacement,
    out: &PathBuf,
    meta: &Meta,
    stamps: &[FileStamp],
    changed_percent_max: u32,
    limits: Limits,
    stop: &CancellationToken,
) -> Result<Result<(Writer, Changes), String>, Fault> {
    if !is_portable(out) {
        return Ok(Err("there was no file".to_owned()));
    }
    std::fs::copy(out, replacement.new_file()).map_err(write_fault)?;
    let opened =
        Writer::update(replacement.new_file(), limits, stop).and_then(|writer| Ok((writer.meta()?, writer)));
    let drop_copy = |reason: &str| {
        std::fs::remove_file(replacement.new_file()).map_err(write_fault)?;
        Ok(Err(reason.to_owned()))
    };
    let (old, mut writer) = match opened {
        Ok(opened) => opened,
        Err(fault) if fault.code == ErrorCode::SchemaValidationFailed => {
            return drop_copy("the file is damaged or of another format");
        }
        Err(fault) => return Err(fault),
    };
    if old.model.hash != meta.model.hash {
        drop(writer);
        return drop_copy("the file has vectors of another model");
    }
    if (&old.project, &old.repository, &old.mode) != (&meta.project, &meta.repository, &meta.mode) {
        drop(writer);
        return drop_copy("the file has another project, repository or mode");
    }
    let mut outdated = writer.stamps()?;
    let total: i64 = stamps.iter().map(|stamp| stamp.chunks).sum();
    let (kept, changed): (Vec<FileStamp>, Vec<FileStamp>) =
        stamps.iter().partition(|stamp| outdated.get(&stamp.file_id) == Some(stamp));
    for stamp in &kept {
        outdated.remove(&stamp.file_id);
    }
    let removed_chunks: i64 = outdated.values().map(|stamp| stamp.chunks).sum();
    let new_chunks: i64 = changed.iter().map(|stamp| stamp.chunks).sum();
    let most = removed_chunks.max(new_chunks);
    if most.saturating_mul(100) > total.saturating_mul(i64::from(changed_percent_max)) {
        drop(writer);
        return drop_copy(&format!("more than {changed_percent_max} % changed"));
    }
    let outdated: Vec<i64> = outdated.into_keys().collect();
    writer.clear(&outdated)?;
    let kept = kept.iter().map(|stamp| stamp.file_id).collect();
    Ok(Ok((writer, Changes { written: changed, kept, is_update: true })))
}

/// A build in progress.
struct BuildRun<'a> {
    build: &'a BuildRequest<'a>,
    source: &'a IndexSource,
    disk_space: DiskSpace,
    /// `None` while a thread of the blocking pool uses it.
    writer: Option<Writer>,
    /// The number of files written or kept so far.
    files_done: u64,
}

impl BuildRun<'_> {
    /// Writes the changed files with their chunks.
    async fn write_chunks(&mut self, tx: &mut ProjectTx, changes: &Changes) -> Result<(), Fault> {
        for batch in batches(changes.written.clone(), self.build.settings.page_chunks) {
            let ids: Vec<i64> = batch.iter().map(|stamp| stamp.file_id).collect();
            let page = pages::page(tx, &self.source.part, &ids).await?;
            self.write(move |writer| writer.put(&page)).await?;
            self.files_done += ids.len() as u64;
            (self.build.progress)(self.files_done, self.source.stamps.len() as u64);
        }
        Ok(())
    }

    /// Writes the tables that are small or change independently of the chunks: files, names, terms, authors, flows, users.
    async fn write_small_tables(&mut self, tx: &mut ProjectTx, changes: &Changes) -> Result<(), Fault> {
        for ids in changes.kept.chunks(usize::try_from(SMALL_ROWS).unwrap_or(1)) {
            let files = pages::files(tx, ids).await?;
            self.put(RewrittenRows::Files(files)).await?;
        }
        let mut after = i64::MIN;
        loop {
            let names = pages::names(tx, after, SMALL_ROWS).await?;
            let Some(last) = names.last() else { break };
            after = last.0;
            self.put(RewrittenRows::Names(names)).await?;
        }
        let repositories: Vec<i64> = self.source.repositories.iter().map(|row| row.id).collect();
        let mut after = (i64::MIN, i32::MIN);
        loop {
            let terms = pages::terms(tx, &repositories, after, SMALL_ROWS).await?;
            let Some(last) = terms.last() else { break };
            after = (last.repository_id, last.term);
            self.put(RewrittenRows::Terms(terms)).await?;
        }
        let mut after = i64::MIN;
        loop {
            let authors = pages::authors(tx, after, SMALL_ROWS).await?;
            let Some(last) = authors.last() else { break };
            after = last.0;
            self.put(RewrittenRows::Authors(authors)).await?;
        }
        let mut after = i64::MIN;
        loop {
            let flows = pages::flows(tx, after, SMALL_ROWS).await?;
            let Some(last) = flows.last() else { break };
            after = last.0;
            self.put(RewrittenRows::Flows(flows)).await?;
        }
        let mut after = i64::MIN;
        loop {
            let users = pages::users(tx, after, SMALL_ROWS).await?;
            let Some(last) = users.last() else { break };
            after = last.0;
            self.put(RewrittenRows::Users(users)).await?;
        }
        if changes.is_update { self.add_missing_vectors(tx).await } else { Ok(()) }
    }

    /// Adds the vectors of texts that had none when the existing file was written.
    async fn add_missing_vectors(&mut self, tx: &mut ProjectTx) -> Result<(), Fault> {
        let mut after = Vec::new();
        let limit = i64::try_from(self.build.settings.page_chunks.max(1)).unwrap_or(i64::MAX);
        loop {
            let from = after.clone();
            let hashes = self.write(move |writer| writer.without_vector(&from, limit)).await?;
            let Some(last) = hashes.last() else { return Ok(()) };
            after.clone_from(last);
            let hashes: Vec<&[u8]> = hashes.iter().map(Vec::as_slice).collect();
            let vectors = pages::vectors(tx, &hashes).await?;
            self.put(RewrittenRows::Vectors(vectors)).await?;
        }
    }

    async fn put(&mut self, small: RewrittenRows) -> Result<(), Fault> {
        self.write(move |writer| writer.put_rewritten(&small)).await
    }

    /// Runs `work` on the file, on a thread of the blocking pool.
    async fn write<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Writer) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        if self.build.cancel.is_cancelled() {
            return Err(Fault::new(ErrorCode::Cancelled, "The build of the portable file was cancelled."));
        }
        self.disk_space.require(0).await?;
        let mut writer = self.take_writer()?;
        let (writer, outcome) = blocking(move || {
            let outcome = work(&mut writer);
            Ok((writer, outcome))
        })
        .await?;
        self.writer = Some(writer);
        outcome
    }

    async fn finish(mut self) -> Result<RowCounts, Fault> {
        let writer = self.take_writer()?;
        let (meta, repositories) = (self.source.meta.clone(), self.source.repositories.clone());
        blocking(move || writer.finish(&meta, &repositories)).await
    }

    fn take_writer(&mut self) -> Result<Writer, Fault> {
        self.writer
            .take()
            .ok_or_else(|| Fault::internal("The writer of the portable file is gone.", "no writer"))
    }
}

#[cfg(test)]
mod tests;
