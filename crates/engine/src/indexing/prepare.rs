//! Converts files to rows: reads, redacts and chunks them and computes term weights. Runs on blocking threads.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc::Sender;
use tokio_util::sync::CancellationToken;

use super::describe::{self, chunk_write, mode};
use super::document::Document;
use super::extracted::extracted_text;
use super::extractor::Extractor;
use super::file::{ContentKind, OpenRoot, ReadLimits, SkipReason};
use super::front_matter::front_matter;
use super::options::Mode;
use super::parser::{Parser, Parsing};
use super::plan::{FileToRead, StoredFile};
use super::risk::{self, RiskRules};
use super::secrets::{self, Redacted};
use super::symbols::symbols_write;
use super::walk::WalkedFile;
use contract::Fault;
use contract::config;
use languages::risk::{Findings, analyse};
use languages::{self, ChunkLimits, Chunked, Dictionary, MISSING_FACTS};
use platform::safe_open::FileMetadata;
use store::{FileWrite, files::Touched};

/// The result of preparing a file.
pub(super) enum Prepared {
    /// The file is new or changed; these rows replace the old ones.
    Changed {
        file: Box<FileWrite>,
        /// Number of redacted secrets.
        redacted: u64,
    },
    /// The file has a different mode from the run and is left unchanged.
    OtherMode,
    /// Content and facts equal the stored ones; only size or time may differ.
    Unchanged(Touched),
}

/// A function that returns whether the run was cancelled.
pub(super) type Cancelled<'c> = dyn Fn() -> bool + Sync + 'c;

/// Options of preparing files, besides the settings.
#[derive(Clone)]
pub(super) struct PrepareOptions {
    /// The mode of the files to index.
    pub(super) mode: Mode,
    /// Method of parsing texts.
    pub(super) parsing: Parsing,
    /// The risk rules, if risk is analysed.
    pub(super) rules: RiskRules,
    /// Splits unsegmented identifiers.
    pub(super) dictionary: Option<Arc<Dictionary>>,
}

/// The processes of one thread.
struct Workers {
    parser: Parser,
    extractor: Extractor,
}

impl Workers {
    fn new(parsing: &Parsing) -> Self {
        Self { parser: Parser::new(parsing.clone()), extractor: Extractor::new(parsing.clone()) }
    }
}

/// Prepares `files` on `threads` threads and sends each result, until done or cancelled.
///
/// Blocks. The bounded channel limits memory: a thread waits until the writer has capacity.
pub(super) fn prepare_all(
    root: &OpenRoot,
    files: Vec<FileToRead>,
    settings: &config::Indexing,
    options: &PrepareOptions,
    threads: usize,
    out: &Sender<Result<Prepared, Fault>>,
    cancel: &CancellationToken,
) {
    let queue = Mutex::new(files.into_iter());
    let next = || queue.lock().ok().and_then(|mut files| files.next());
    let cancelled = || cancel.is_cancelled();
    let prepared = |file: FileToRead, workers: &mut Workers| {
        let (path, entry) = (file.entry.path.clone(), file.entry.clone());
        let preparing = AssertUnwindSafe(|| prepare_file(root, file, settings, options, workers, &cancelled));
        // A panic skips this file and does not fail the run.
        std::panic::catch_unwind(preparing).unwrap_or_else(|_| {
            tracing::error!(path, "preparing the file failed unexpectedly; it is skipped");
            let mut write = empty_row(&entry, Vec::new());
            write.skipped = Some(SkipReason::Failed.as_str());
            Ok(Some(Prepared::Changed { file: Box::new(write), redacted: 0 }))
        })
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                let mut workers = Workers::new(&options.parsing);
                while let Some(file) = next().filter(|_| !cancelled()) {
                    let Some(prepared) = prepared(file, &mut workers).transpose() else { return };
                    let failed = prepared.is_err();
                    if out.blocking_send(prepared).is_err() || failed {
                        return;
                    }
                }
            });
        }
    });
}

/// Returns the row of a file with only the values from the walk.
fn empty_row(entry: &WalkedFile, content_hash: Vec<u8>) -> FileWrite {
    FileWrite {
        extension: extension(&entry.path),
        path: entry.path.clone(),
        language: None,
        bytes: i64::try_from(entry.bytes).unwrap_or(i64::MAX),
        modified_ns: entry.modified_ns,
        content_hash,
        lines: 0,
        mode: "code",
        skipped: None,
        facts_missing: None,
        facts_tried_ms: 0,
        symbols: None,
        imports: Vec::new(),
        meta: None,
        risk_ends: None,
        chunks: Vec::new(),
    }
}

/// Returns `None` if the run was cancelled, because the result would be incomplete. An error fails the run, not only
/// the file.
fn prepare_file(
    root: &OpenRoot,
    file: FileToRead,
    settings: &config::Indexing,
    options: &PrepareOptions,
    workers: &mut Workers,
    cancelled: &Cancelled<'_>,
) -> Result<Option<Prepared>, Fault> {
    let FileToRead { mut entry, stored } = file;
    let limits =
        ReadLimits { bytes_max: settings.file_bytes_max, line_bytes_mean_max: settings.line_bytes_mean_max };
    let read = root.read_indexed(&entry.path, &limits, settings.document_bytes_max);
    // Since the walk, another file may have been moved to this path, and the original may be back at the next run.
    if let Some(FileMetadata { bytes, modified_ns }) = read.metadata {
        (entry.bytes, entry.modified_ns) = (bytes, modified_ns);
    }
    let content_hash = read.content_hash.map(Vec::from).unwrap_or_default();
    let has_same_hash =
        |stored: &StoredFile| !stored.content_hash.is_empty() && stored.content_hash == content_hash;
    let unchanged = stored.filter(has_same_hash);
    let mut write = empty_row(&entry, content_hash);
    // The reason why a file is not searchable is determined again, so that the run can report it.
    if let Some(stored) = &unchanged
        && stored.facts_missing.is_none()
        && !stored.is_skipped
    {
        return Ok(Some(unchanged_row(stored.id, &write, 0)));
    }
    let mut redacted = 0;
    match extract(read.kind, settings, &mut workers.extractor, cancelled)? {
        ContentKind::Document { .. } => write.skipped = Some(SkipReason::UnreadableDocument.as_str()),
        ContentKind::Skipped(reason) => {
            write.skipped = Some(reason.as_str());
            // With its hash it would count as unchanged.
            if reason.is_transient() {
                write.content_hash = Vec::new();
            }
        }
        ContentKind::Text { text, lines, language, extracted } => {
            let text = FileText { text: &text, lines, language, extracted };
            match describe_text(&mut write, &text, settings, options, &mut workers.parser, cancelled)? {
                Some(count) => redacted = count,
                None => return Ok(Some(Prepared::OtherMode)),
            }
        }
    }
    if cancelled() {
        return Ok(None);
    }
    let tried_ms = failed_parse_ms(write.facts_missing, settings);
    let tried_before_ms = unchanged.as_ref().filter(|_| tried_ms > 0).map_or(0, |stored| stored.tried_ms);
    write.facts_tried_ms = tried_ms + tried_before_ms;
    // A retry that failed again leaves the rows unchanged.
    if let Some(stored) = unchanged
        && write.facts_missing.is_some()
        && stored.facts_missing.as_deref() == write.facts_missing
    {
        return Ok(Some(unchanged_row(stored.id, &write, tried_ms)));
    }
    Ok(Some(Prepared::Changed { file: Box::new(write), redacted }))
}

/// Replaces a document by its text, or by the reason why it has none.
fn extract(
    kind: ContentKind,
    settings: &config::Indexing,
    extractor: &mut Extractor,
    cancelled: &Cancelled<'_>,
) -> Result<ContentKind, Fault> {
    let (format, bytes) = match kind {
        ContentKind::Document { format, bytes } => (format, bytes),
        other => return Ok(other),
    };
    Ok(match extractor.text(format, &bytes, settings, cancelled)? {
        Ok(text) => extracted_text(text, languages::by_name(format.as_str())),
        Err(reason) => ContentKind::Skipped(reason),
    })
}

fn unchanged_row(id: i64, write: &FileWrite, tried_ms: i64) -> Prepared {
    Prepared::Unchanged(Touched { id, bytes: write.bytes, modified_ns: write.modified_ns, tried_ms })
}

/// Returns the milliseconds spent in this attempt if facts are missing because of a timeout, else 0.
fn failed_parse_ms(facts_missing: Option<&str>, settings: &config::Indexing) -> i64 {
    let timed_out = facts_missing.is_some_and(|reason| MISSING_FACTS.contains(&reason));
    if timed_out { i64::try_from(settings.parse_timeout_ms).unwrap_or(i64::MAX) } else { 0 }
}

/// Converts a document that is not a file to its rows. `tried_before_ms` is the time of earlier failed attempts.
/// Returns `None` if the run was cancelled.
pub(super) fn prepare_document(
    document: Document,
    tried_before_ms: i64,
    settings: &config::Indexing,
    dictionary: Option<&Dictionary>,
    parser: &mut Parser,
    cancelled: &Cancelled<'_>,
) -> Result<Option<Prepared>, Fault> {
    let content_hash = document.content_hash().to_vec();
    let clean = if settings.redact_secrets {
        secrets::redact(&document.text)
    } else {
        Redacted { text: document.text.as_str().into(), count: 0 }
    };
    let language = languages::by_name("markdown");
    let Chunked { chunks, facts_missing, .. } =
        parser.chunk(&clean.text, language, &chunk_limits(settings, false), cancelled)?;
    if cancelled() {
        return Ok(None);
    }
    let findings = Findings::default();
    let tried_ms = failed_parse_ms(facts_missing, settings);
    let rows =
        chunks.into_iter().map(|chunk| chunk_write(&document.path, chunk, false, &findings, dictionary));
    let write = FileWrite {
        chunks: rows.collect(),
        facts_missing,
        facts_tried_ms: tried_ms + if tried_ms > 0 { tried_before_ms } else { 0 },
        extension: extension(&document.path),
        language: language.map(|language| language.id),
        mode: document.mode,
        bytes: i64::try_from(document.text.len()).unwrap_or(i64::MAX),
        modified_ns: document.modified_ns,
        content_hash,
        lines: u32::try_from(document.text.lines().count()).unwrap_or(u32::MAX),
        meta: Some(document.meta).filter(|meta| !meta.is_empty()),
        path: document.path,
        ..FileWrite::default()
    };
    Ok(Some(Prepared::Changed { file: Box::new(write), redacted: clean.count as u64 }))
}

/// The text of a file.
pub(super) struct FileText<'a> {
    pub(super) text: &'a str,
    pub(super) lines: u32,
    pub(super) language: Option<&'static languages::Language>,
    /// `true` if it was extracted from the file.
    pub(super) extracted: bool,
}

/// Fills in the row from the text and returns the number of redacted secrets; `None` if the file has a different mode from the run.
fn describe_text(
    write: &mut FileWrite,
    read: &FileText<'_>,
    settings: &config::Indexing,
    options: &PrepareOptions,
    parser: &mut Parser,
    cancelled: &Cancelled<'_>,
) -> Result<Option<u64>, Fault> {
    let FileText { text, lines, language, extracted } = *read;
    let clean = if !settings.redact_secrets {
        Redacted { text: text.into(), count: 0 }
    } else if extracted {
        secrets::redact_extracted(language, text)
    } else {
        secrets::redact_file(&write.path, text)
    };
    write.lines = lines;
    write.language = language.map(|language| language.id);
    write.meta = front_matter(&clean.text);
    write.mode = mode(&write.path, language, write.meta.as_deref());
    if options.mode.stored_mode().is_some_and(|mode| mode != write.mode) {
        return Ok(None);
    }
    // Of the extracted texts, those of notebooks are code.
    let has_cells = extracted && !language.is_some_and(languages::Language::is_prose);
    let limits = chunk_limits(settings, has_cells);
    let chunked = parser.chunk(&clean.text, language, &limits, cancelled)?;
    if !cancelled() {
        apply_chunks(write, &clean.text, language, (settings, options), chunked);
    }
    Ok(Some(clean.count as u64))
}

/// Fills in the chunks from the parser process, whose answer is untrusted.
pub(super) fn apply_chunks(
    write: &mut FileWrite,
    text: &str,
    language: Option<&'static languages::Language>,
    (settings, options): (&config::Indexing, &PrepareOptions),
    chunked: Chunked,
) {
    let Chunked { chunks, imports, flow, symbols, facts_missing, .. } = chunked;
    write.symbols = symbols.map(|symbols| symbols_write(&write.path, &symbols, settings.symbols_bytes_max));
    write.facts_missing = facts_missing;
    let findings = match (options.rules.as_deref(), language) {
        (Some(rules), Some(language)) => analyse(text, language.id, &flow, rules),
        _ => Findings::default(),
    };
    write.risk_ends = risk::encode_open_flows(&findings);
    write.imports = describe::imports(&write.path, &imports);
    let is_code = write.mode == "code";
    let dictionary = options.dictionary.as_deref();
    let rows =
        chunks.into_iter().map(|chunk| chunk_write(&write.path, chunk, is_code, &findings, dictionary));
    write.chunks = rows.collect();
}

/// Converts a text in memory to its rows. Parses it in this process.
#[cfg(any(test, feature = "fuzzing"))]
pub(super) fn file_rows(
    path: &str,
    text: &FileText<'_>,
    settings: &config::Indexing,
    options: &PrepareOptions,
) -> Result<FileWrite, Fault> {
    let entry = WalkedFile { path: path.to_owned(), bytes: text.text.len() as u64, modified_ns: 0 };
    let mut write = empty_row(&entry, Vec::new());
    describe_text(&mut write, text, settings, options, &mut Parser::new(Parsing::InProcess), &|| false)?;
    Ok(write)
}

fn chunk_limits(settings: &config::Indexing, cells: bool) -> ChunkLimits {
    ChunkLimits {
        chars_target: settings.chunk_chars_target,
        chars_max: settings.chunk_chars_max,
        chunks_max: settings.chunks_per_file_max,
        parse_timeout: Duration::from_millis(settings.parse_timeout_ms),
        facts: settings.facts,
        cells,
    }
}

/// Returns the extension in lower case without the dot; `None` for names such as `Makefile` and `.bashrc`.
fn extension(path: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, extension) = name.rsplit_once('.')?;
    (!stem.is_empty()).then(|| extension.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::extension;

    #[test]
    fn extensions() {
        assert_eq!(extension("a/b.RS").as_deref(), Some("rs"));
        assert_eq!(extension("a.d/Makefile"), None);
        assert_eq!(extension(".bashrc"), None);
    }
}
