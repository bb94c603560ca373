//! Reads the facts of compilers' indexers from SCIP files that a call names, or that are in the repository's folder for them.
//!
//! A SCIP file is read three times: to validate all of it, to find the definitions of its symbols, and to store its documents with these
//! places. A document counts only for a file with the content from which the document was made. Everything in a file is written in one
//! transaction, so that a failure has no effect.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ::navigation::scip::{
    Definitions, Document, Error, GivenDocument, Limits, Metadata, PositionEncoding, Reader,
};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::context::RunContext;
use super::file::{ContentKind, OpenRoot, ReadLimits};
use super::file_tree::FileTree;
use contract::config;
use contract::{ErrorCode, Fault};
use platform::failpoints;
use platform::safe_open::{EntryKind, Folder};
use schemars::JsonSchema;
use store::{Access, ProjectTx, ScipDocumentWrite, ScipFile, files, scip};

/// Maximum number of SCIP files that are read from a repository's folder for them.
const FILES_MAX: usize = 64;
/// Maximum number of entries of that folder that are examined.
const ENTRIES_MAX: usize = 4096;
/// Bytes of documents that are written at once.
const BATCH_BYTES: usize = 4 << 20;
/// Documents that are written at once.
const BATCH_DOCUMENTS: usize = 500;
/// Number of signs of life of a waiting transaction within the time after which the database would end it.
const SIGNS_OF_LIFE: u64 = 4;
/// Maximum size of one document in the database, in bytes.
const DOCUMENT_BYTES_MAX: usize = 32 << 20;
/// Maximum length of the name of a tool, in bytes.
const TOOL_BYTES_MAX: usize = 255;
/// Extension of a SCIP file.
const EXTENSION: &str = ".scip";

/// What a run took from SCIP files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScipReport {
    /// SCIP files that were read.
    pub files: u64,
    /// SCIP files that were refused; the notes say why.
    pub files_refused: u64,
    /// Documents that were taken.
    pub documents: u64,
    /// Documents that were made of another content than their file has.
    pub documents_differing: u64,
    /// Documents of files that are not indexed.
    pub documents_unknown: u64,
    /// Uses of symbols that the SCIP file does not define, such as those of the standard library.
    pub uses_elsewhere: u64,
}

/// Result of the stage.
#[derive(Debug, Default)]
pub(super) struct ScipImport {
    /// Absent if there was no SCIP file to read.
    pub(super) report: Option<ScipReport>,
    /// Notes for the report of the run.
    pub(super) notes: Vec<String>,
}

/// Reads the SCIP files that the run was given, and those in the repository's folder that are new to it.
///
/// # Errors
/// `CANCELLED`; `ILLEGAL_STATE` if the fence is lost; storage faults. A file that cannot be used causes a note.
pub(super) async fn import(
    run: &RunContext<'_>,
    repository_id: i64,
    tree_changed: bool,
) -> Result<ScipImport, Fault> {
    let mut tx = run.begin_batch().await?;
    scip::prune(&mut tx, run.fence, repository_id, run.options.full).await?;
    let known = scip::files_read(&mut tx, repository_id).await?;
    tx.commit().await?;
    let (given, root) = (run.options.scip.clone(), run.root.to_owned());
    let folder = match run.tree {
        FileTree::Directory => run.config.indexing.scip_folder.clone(),
        // SCIP files are made from a commit and are not part of it.
        FileTree::Commit { .. } => String::new(),
    };
    let mut done = ScipImport::default();
    let (sources, notes) = blocking(move || find_sources(&given, &root, &folder)).await?;
    done.notes.extend(notes);
    if sources.is_empty() {
        return Ok(done);
    }
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    let rows = files::manifest(&mut tx, repository_id).await?;
    tx.commit().await?;
    let searchable = rows.into_iter().filter(|row| row.skipped.is_none());
    let indexed: HashMap<String, Vec<u8>> = searchable.map(|row| (row.path, row.content_hash)).collect();
    let stage = Stage {
        limits: limits(&run.config.indexing),
        root: Arc::new(run.open_root()?),
        read: ReadLimits {
            bytes_max: run.config.indexing.file_bytes_max,
            line_bytes_mean_max: run.config.indexing.line_bytes_mean_max,
        },
        indexed: Arc::new(indexed),
    };
    for source in sources {
        let before = known.get(&source.name).filter(|_| source.in_folder);
        // Documents that did not fit may fit after files have changed.
        let read_again = before.is_some_and(|before| before.refused > 0 && tree_changed);
        let before = before.filter(|_| !read_again).map(|before| before.hash.clone());
        take(run, repository_id, &stage, source, before, &mut done).await?;
    }
    failpoints::reach("index.scip_taken");
    Ok(done)
}

/// Checks that a file is a sound SCIP file. Blocks.
///
/// # Errors
/// `INVALID_REQUEST` says what is wrong with it.
pub fn check_scip_file(path: &Path, settings: &config::Indexing) -> Result<(), Fault> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let invalid = |why: String| {
        Fault::new(ErrorCode::InvalidRequest, format!("{name}: {why}"))
            .with_hint("Name files that a SCIP indexer wrote, in a directory that may be indexed.")
    };
    let file = open(path).map_err(|why| invalid(format!("The file cannot be read ({why}).")))?;
    let checked = Index { file: &file, limits: limits(settings), must_stop: &|| false }.each(|_, _| Ok(()));
    checked.map_err(|refusal| invalid(refusal.to_string()))
}

fn limits(settings: &config::Indexing) -> Limits {
    Limits { file_bytes: settings.scip_file_bytes_max, ..Limits::default() }
}

/// Opens a regular file by its canonical path; a link that was put there since the path was resolved is not followed.
fn open(path: &Path) -> Result<File, String> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Err("it is no file".to_owned());
    };
    let folder = Folder::open(folder).map_err(|error| error.to_string())?;
    folder.open_file(name).map_err(|why| format!("{why:?}"))
}

/// A SCIP file to read.
struct Source {
    name: String,
    file: File,
    /// `true` if it is in the repository's folder for them.
    in_folder: bool,
    /// The folder that the paths in it may be relative to, besides the root of the repository; ends in `/` or is empty.
    prefix: String,
}

/// Opens the named files and those in the repository's folder; returns notes about those that cannot be opened.
fn find_sources(given: &[String], root: &Path, folder: &str) -> (Vec<Source>, Vec<String>) {
    let (mut sources, mut notes) = (Vec::new(), Vec::new());
    for path in given.iter().map(Path::new) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let below = path.parent().and_then(|parent| parent.strip_prefix(root).ok());
        let prefix = below.and_then(Path::to_str).filter(|prefix| !prefix.is_empty());
        let prefix = prefix.map(|prefix| format!("{prefix}/")).unwrap_or_default();
        match open(path) {
            Ok(file) => sources.push(Source { name, file, in_folder: false, prefix }),
            Err(why) => notes.push(format!("The SCIP file {name} cannot be read: {why}.")),
        }
    }
    let Some(folder) = open_folder(root, folder) else { return (sources, notes) };
    let Ok((entries, _)) = folder.entries(ENTRIES_MAX) else { return (sources, notes) };
    let regular = entries.into_iter().filter(|entry| entry.kind == EntryKind::File);
    let names = regular.filter_map(|entry| entry.name.into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(EXTENSION)).collect();
    names.sort();
    if names.len() > FILES_MAX {
        notes.push(format!("Only the first {FILES_MAX} of {} SCIP files were read.", names.len()));
        names.truncate(FILES_MAX);
    }
    for name in names {
        match folder.open_file(&name) {
            Ok(file) => sources.push(Source { name, file, in_folder: true, prefix: String::new() }),
            Err(why) => notes.push(format!("The SCIP file {name} cannot be read: {why:?}.")),
        }
    }
    (sources, notes)
}

fn open_folder(root: &Path, folder: &str) -> Option<Folder> {
    if folder.is_empty() {
        return None;
    }
    let mut opened = Folder::open(root).ok()?;
    for name in folder.split('/') {
        opened = opened.open_folder(name).ok()?;
    }
    Some(opened)
}

/// The context for reading a SCIP file.
#[derive(Clone)]
struct Stage {
    limits: Limits,
    root: Arc<OpenRoot>,
    read: ReadLimits,
    /// Content hashes of the searchable files, by path.
    indexed: Arc<HashMap<String, Vec<u8>>>,
}

/// Outcome of reading a SCIP file.
struct Taken {
    hash: [u8; 32],
    tool: String,
    counts: ScipReport,
}

/// Reads a SCIP file, unless it has the hash `before`, and stores its facts. Everything is written, or nothing.
async fn take(
    run: &RunContext<'_>,
    repository_id: i64,
    stage: &Stage,
    source: Source,
    before: Option<Vec<u8>>,
    done: &mut ScipImport,
) -> Result<(), Fault> {
    let (sender, mut batches) = mpsc::channel::<(String, Vec<ScipDocumentWrite>)>(2);
    let (stage, must_stop) = (stage.clone(), run.stop_check());
    let (name, in_folder) = (source.name.clone(), source.in_folder);
    let reading = platform::task::spawn_blocking(move || {
        stage.read(&source, before.as_deref(), &must_stop, &|tool, batch| {
            sender.blocking_send((tool.to_owned(), batch)).map_err(|_| Refusal::Stopped)
        })
    });
    let idle_ms_max = run.config.database.idle_in_transaction_ms_max;
    let silence = Duration::from_millis((idle_ms_max / SIGNS_OF_LIFE).max(10));
    let mut open: Option<ProjectTx> = None;
    loop {
        match (tokio::time::timeout(silence, batches.recv()).await, &mut open) {
            (Err(_), Some(tx)) => tx.keep_alive().await?,
            (Err(_), None) => {}
            (Ok(None), _) => break,
            (Ok(Some((tool, batch))), tx) => {
                let tx = match tx {
                    Some(tx) => tx,
                    None => tx.insert(run.begin_bulk().await?),
                };
                scip::replace(tx, run.fence, repository_id, &tool, &batch).await?;
            }
        }
    }
    let read =
        reading.await.map_err(|error| Fault::internal("Reading a SCIP file failed unexpectedly.", error))?;
    let report = match read {
        Ok(None) => return Ok(()),
        Err(Refusal::Stopped) => {
            return Err(Fault::new(
                ErrorCode::Cancelled,
                "The index run was cancelled; committed changes are kept.",
            ));
        }
        Err(refusal) => {
            // Dropping the transaction discards everything that was written of the file.
            done.notes.push(format!("{name} was refused, and nothing of it was taken. {refusal}"));
            done.report.get_or_insert_default().files_refused += 1;
            return Ok(());
        }
        Ok(Some(report)) => report,
    };
    let mut tx = match open {
        Some(tx) => tx,
        None => run.begin_bulk().await?,
    };
    if in_folder {
        let refused = i64::try_from(report.counts.documents_differing + report.counts.documents_unknown);
        let file = ScipFile { hash: report.hash.to_vec(), refused: refused.unwrap_or(i64::MAX) };
        scip::record_file(&mut tx, run.fence, repository_id, &name, &file).await?;
    }
    tx.commit().await?;
    done.notes.extend(note(&name, &report));
    let sum = done.report.get_or_insert_default();
    sum.files += 1;
    sum.documents += report.counts.documents;
    sum.documents_differing += report.counts.documents_differing;
    sum.documents_unknown += report.counts.documents_unknown;
    sum.uses_elsewhere += report.counts.uses_elsewhere;
    Ok(())
}

/// Returns a note about why a SCIP file was not usable, if so.
fn note(name: &str, taken: &Taken) -> Option<String> {
    let counts = &taken.counts;
    match (counts.documents, counts.documents_differing, counts.documents_unknown) {
        (0, 0, 0) => Some(format!("{name} has no documents.")),
        (0, 0, unknown) => Some(format!(
            "{name} is of another repository: none of its {unknown} documents is of a file that is indexed here."
        )),
        (0, differing, _) => Some(format!(
            "{name} was made of another state of the repository: its {differing} documents do not fit their files."
        )),
        _ => None,
    }
}

/// The reason why a SCIP file is not read to its end.
#[derive(Debug)]
enum Refusal {
    Broken(Error),
    Definitions(usize),
    Changed,
    Io(io::Error),
    Stopped,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Broken(error) => error.fmt(out),
            Self::Definitions(max) => write!(out, "It defines more than {max} symbols."),
            Self::Changed => write!(out, "It changed while it was read."),
            Self::Io(error) => write!(out, "It cannot be read: {error}."),
            Self::Stopped => write!(out, "Reading it was cancelled."),
        }
    }
}

/// Writes a batch of documents of a SCIP file, which its name identifies.
type WriteDocuments<'w> = dyn Fn(&str, Vec<ScipDocumentWrite>) -> Result<(), Refusal> + 'w;

impl Stage {
    /// Reads a SCIP file and passes its facts on in batches. `None` if it has the hash `before`.
    fn read(
        &self,
        source: &Source,
        before: Option<&[u8]>,
        must_stop: &dyn Fn() -> bool,
        write: &WriteDocuments<'_>,
    ) -> Result<Option<Taken>, Refusal> {
        let index = Index { file: &source.file, limits: self.limits, must_stop };
        let hash = index.hash()?;
        if before.is_some_and(|before| before == hash) {
            return Ok(None);
        }
        let mut known = [0u64; 2];
        let prefixes = ["", source.prefix.as_str()];
        index.each(|_, document| {
            for (known, prefix) in known.iter_mut().zip(prefixes) {
                *known += u64::from(self.indexed.contains_key(&format!("{prefix}{}", document.path)));
            }
            Ok(())
        })?;
        let prefix = if known[0] == 0 && known[1] > 0 { prefixes[1] } else { "" };
        let reading = Reading { stage: self, index, prefix };
        let mut taken = Taken { hash, tool: String::new(), counts: ScipReport::default() };
        let (definitions, fitting) = reading.definitions(&mut taken)?;
        reading.documents(&definitions, &fitting, &mut taken, write)?;
        // Nothing is committed yet.
        if reading.index.hash()? == hash { Ok(Some(taken)) } else { Err(Refusal::Changed) }
    }
}

/// A valid SCIP file, with the folder to which its paths are relative.
struct Reading<'r> {
    stage: &'r Stage,
    index: Index<'r>,
    prefix: &'r str,
}

/// Content hashes of the files that documents fit.
type Fitting = HashMap<String, Vec<u8>>;

impl Reading<'_> {
    /// Finds the definitions of symbols, and the documents that fit their files.
    fn definitions(&self, taken: &mut Taken) -> Result<(Definitions, Fitting), Refusal> {
        let (mut definitions, mut fitting) = (Definitions::default(), Fitting::new());
        let max = self.stage.limits.definitions;
        self.index.each(|metadata, document| {
            let path = format!("{}{}", self.prefix, document.path);
            let encoding = document.encoding.or_of_tool(metadata);
            let text = match self.stage.indexed.get(&path) {
                None => {
                    taken.counts.documents_unknown += 1;
                    None
                }
                Some(hash) => self.text(&path, hash).filter(|text| document.fits(encoding, text)),
            };
            match (&text, self.stage.indexed.get(&path)) {
                (Some(_), Some(hash)) => drop(fitting.insert(path.clone(), hash.clone())),
                (None, Some(_)) => taken.counts.documents_differing += 1,
                _ => {}
            }
            if taken.tool.is_empty() {
                taken.tool = tool_name(metadata);
            }
            let added = definitions.add(document, &path, encoding, text.as_deref(), max);
            added.map_err(|_| Refusal::Definitions(max))
        })?;
        Ok((definitions, fitting))
    }

    /// Passes on the facts of the documents that fit their files.
    fn documents(
        &self,
        definitions: &Definitions,
        fitting: &Fitting,
        taken: &mut Taken,
        write: &WriteDocuments<'_>,
    ) -> Result<(), Refusal> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        let tool = taken.tool.clone();
        let counts = &mut taken.counts;
        self.index.each(|metadata, document| {
            let path = format!("{}{}", self.prefix, document.path);
            let Some(hash) = fitting.get(&path) else { return Ok(()) };
            let encoding: PositionEncoding = document.encoding.or_of_tool(metadata);
            let Some(text) = self.text(&path, hash) else {
                counts.documents_differing += 1;
                return Ok(());
            };
            let given = GivenDocument::new(document, encoding, &text, definitions);
            let stored = given.encode();
            if stored.len() > DOCUMENT_BYTES_MAX {
                counts.documents_differing += 1;
                return Ok(());
            }
            counts.documents += 1;
            counts.uses_elsewhere += given.occurrences().filter(|one| one.symbol.is_none()).count() as u64;
            bytes += stored.len();
            batch.push(ScipDocumentWrite { path, content_hash: hash.clone(), document: stored });
            if bytes < BATCH_BYTES && batch.len() < BATCH_DOCUMENTS {
                return Ok(());
            }
            bytes = 0;
            write(&tool, std::mem::take(&mut batch))
        })?;
        if batch.is_empty() { Ok(()) } else { write(&tool, batch) }
    }

    /// Returns the text of a file, if it still has the indexed content.
    fn text(&self, path: &str, hash: &[u8]) -> Option<String> {
        let read = self.stage.root.read(path, &self.stage.read);
        match read.kind {
            ContentKind::Text { text, .. } if read.content_hash.is_some_and(|own| own == hash) => Some(text),
            _ => None,
        }
    }
}

fn tool_name(metadata: &Metadata) -> String {
    let mut name = format!("{} {}", metadata.tool, metadata.tool_version);
    name.truncate(name.floor_char_boundary(TOOL_BYTES_MAX));
    name
}

/// A SCIP file, which is read from its beginning each time.
struct Index<'f> {
    file: &'f File,
    limits: Limits,
    must_stop: &'f dyn Fn() -> bool,
}

impl Index<'_> {
    /// Reads all documents.
    fn each(
        &self,
        mut each: impl FnMut(&Metadata, &Document<'_>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let mut file = self.file;
        file.seek(SeekFrom::Start(0)).map_err(Refusal::Io)?;
        let mut reader = Reader::new(file, self.limits).map_err(Refusal::Broken)?;
        let metadata = reader.metadata().clone();
        while let Some(document) = reader.next_document().map_err(Refusal::Broken)? {
            if (self.must_stop)() {
                return Err(Refusal::Stopped);
            }
            each(&metadata, &document)?;
        }
        Ok(())
    }

    fn hash(&self) -> Result<[u8; 32], Refusal> {
        let mut file = self.file;
        file.seek(SeekFrom::Start(0)).map_err(Refusal::Io)?;
        let mut hasher = blake3::Hasher::new();
        // A larger file is refused for its size when it is read.
        let bounded = BufReader::new(file.take(self.limits.file_bytes.saturating_add(1)));
        hasher.update_reader(bounded).map_err(Refusal::Io)?;
        Ok(*hasher.finalize().as_bytes())
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Fault> {
    let working = platform::task::spawn_blocking(work);
    working.await.map_err(|error| Fault::internal("Looking for SCIP files failed unexpectedly.", error))
}
