//! From a file on disk to the rows it becomes: read, redact, chunk, weigh. Runs on blocking threads.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc::Sender;
use tokio_util::sync::CancellationToken;

use super::describe::{self, chunk_write, mode};
use super::documents::Document;
use super::file::{Kind, ReadLimits, Root, SkipReason};
use super::front_matter::front_matter;
use super::options::Mode;
use super::parser::{Parser, Parsing};
use super::plan::ToRead;
use super::risk::{self, Rules};
use super::secrets::{self, Redacted};
use super::walk::Entry;
use contract::Fault;
use contract::config;
use languages::risk::{Findings, analyse};
use languages::{self, ChunkLimits, Chunked, Dictionary, MISSING_FACTS};
use store::{FileWrite, files::Touched};

/// What became of one file.
pub(super) enum Prepared {
    /// New or changed: these rows replace the old ones.
    Changed {
        /// The rows.
        file: Box<FileWrite>,
        /// Secrets replaced in it.
        redacted: u64,
    },
    /// It is of another mode than the run is about, and stays as it is.
    Other,
    /// The bytes are the stored ones, and what is to be known of them is as well; only size or time differed.
    Same(Touched),
}

/// Whether what is being prepared is wanted no more.
pub(super) type Cancelled<'c> = dyn Fn() -> bool + Sync + 'c;

/// What a text is read with, beside the settings.
pub(super) struct ReadWith {
    /// Which files the run is about.
    pub(super) mode: Mode,
    /// Where texts are parsed.
    pub(super) parsing: Parsing,
    /// Tell untrusted input and dangerous operations.
    pub(super) rules: Rules,
    /// Splits names without marks.
    pub(super) dictionary: Option<Arc<Dictionary>>,
}

/// Prepares `files` on `threads` threads and sends each as it is ready, until done or cancelled.
///
/// Blocks. Memory is bounded by the channel: nothing is read before the writer has room.
pub(super) fn prepare_all(
    root: &Root,
    files: Vec<ToRead>,
    settings: &config::Indexing,
    with: &ReadWith,
    threads: usize,
    out: &Sender<Result<Prepared, Fault>>,
    cancel: &CancellationToken,
) {
    let queue = Mutex::new(files.into_iter());
    let next = || queue.lock().ok().and_then(|mut files| files.next());
    let cancelled = || cancel.is_cancelled();
    let prepared = |file: ToRead, parser: &mut Parser| {
        let (path, entry) = (file.entry.path.clone(), file.entry.clone());
        let preparing = AssertUnwindSafe(|| prepare(root, file, settings, with, parser, &cancelled));
        // A file that this program cannot cope with costs that file, not the run.
        std::panic::catch_unwind(preparing).unwrap_or_else(|_| {
            tracing::error!(path, "reading the file failed unexpectedly; it is left out");
            let mut write = unread(&entry, Vec::new());
            write.skipped = Some(SkipReason::Failed.as_str());
            Ok(Some(Prepared::Changed { file: Box::new(write), redacted: 0 }))
        })
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                let mut parser = Parser::new(with.parsing.clone());
                while let Some(file) = next().filter(|_| !cancelled()) {
                    let Some(prepared) = prepared(file, &mut parser).transpose() else { return };
                    let failed = prepared.is_err();
                    if out.blocking_send(prepared).is_err() || failed {
                        return;
                    }
                }
            });
        }
    });
}

/// A file of which nothing is known yet but what the walk saw.
fn unread(entry: &Entry, content_hash: Vec<u8>) -> FileWrite {
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
        imports: Vec::new(),
        meta: None,
        risk_ends: None,
        chunks: Vec::new(),
    }
}

/// None when it was cancelled meanwhile: what was made of the file by then is not whole. An error is the run's, not the file's.
fn prepare(
    root: &Root,
    file: ToRead,
    settings: &config::Indexing,
    with: &ReadWith,
    parser: &mut Parser,
    cancelled: &Cancelled<'_>,
) -> Result<Option<Prepared>, Fault> {
    let ToRead { entry, known } = file;
    let limits =
        ReadLimits { bytes_max: settings.file_bytes_max, line_bytes_mean_max: settings.line_bytes_mean_max };
    let read = root.read(&entry.path, &limits);
    let content_hash = read.content_hash.map(Vec::from).unwrap_or_default();
    let same = known.filter(|known| !known.content_hash.is_empty() && known.content_hash == content_hash);
    let mut write = unread(&entry, content_hash);
    if let Some(known) = &same
        && known.facts_missing.is_none()
    {
        return Ok(Some(same_as(known.id, &write, 0)));
    }
    let mut redacted = 0;
    match read.kind {
        Kind::Skipped(reason) => write.skipped = Some(reason.as_str()),
        Kind::Text { text, lines, language } => {
            let text = Text { text: &text, lines, language };
            match describe(&mut write, &text, settings, with, parser, cancelled)? {
                Some(count) => redacted = count,
                None => return Ok(Some(Prepared::Other)),
            }
        }
    }
    if cancelled() {
        return Ok(None);
    }
    let tried = tried_ms(write.facts_missing, settings);
    write.facts_tried_ms = tried + same.as_ref().filter(|_| tried > 0).map_or(0, |known| known.tried_ms);
    // Another attempt that came no further leaves the rows as they are.
    if let Some(known) = same
        && write.facts_missing.is_some()
        && known.facts_missing.as_deref() == write.facts_missing
    {
        return Ok(Some(same_as(known.id, &write, tried)));
    }
    Ok(Some(Prepared::Changed { file: Box::new(write), redacted }))
}

fn same_as(id: i64, write: &FileWrite, tried_ms: i64) -> Prepared {
    Prepared::Same(Touched { id, bytes: write.bytes, modified_ns: write.modified_ns, tried_ms })
}

/// How many milliseconds were spent in vain where facts are missing because time ran out.
fn tried_ms(facts_missing: Option<&str>, settings: &config::Indexing) -> i64 {
    let late = facts_missing.is_some_and(|reason| MISSING_FACTS.contains(&reason));
    if late { i64::try_from(settings.parse_timeout_ms).unwrap_or(i64::MAX) } else { 0 }
}

/// The rows of a text that is no file, and was given so many milliseconds before; none when it was cancelled meanwhile.
pub(super) fn of_document(
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
        parser.chunk(&clean.text, language, &limits(settings), cancelled)?;
    if cancelled() {
        return Ok(None);
    }
    let findings = Findings::default();
    let tried = tried_ms(facts_missing, settings);
    let rows =
        chunks.into_iter().map(|chunk| chunk_write(&document.path, chunk, false, &findings, dictionary));
    let write = FileWrite {
        chunks: rows.collect(),
        facts_missing,
        facts_tried_ms: tried + if tried > 0 { tried_before_ms } else { 0 },
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

/// What was read of a file.
struct Text<'a> {
    text: &'a str,
    lines: u32,
    language: Option<&'static languages::Language>,
}

/// Fills in what the text says, and returns how many secrets were replaced in it; none when the run is not about such files.
fn describe(
    write: &mut FileWrite,
    read: &Text<'_>,
    settings: &config::Indexing,
    with: &ReadWith,
    parser: &mut Parser,
    cancelled: &Cancelled<'_>,
) -> Result<Option<u64>, Fault> {
    let Text { text, lines, language } = *read;
    let clean = if settings.redact_secrets {
        secrets::redact_file(&write.path, text)
    } else {
        Redacted { text: text.into(), count: 0 }
    };
    write.lines = lines;
    write.language = language.map(|language| language.id);
    write.meta = front_matter(&clean.text);
    write.mode = mode(&write.path, language, write.meta.as_deref());
    if with.mode.of_files().is_some_and(|word| word != write.mode) {
        return Ok(None);
    }
    let chunked = parser.chunk(&clean.text, language, &limits(settings), cancelled)?;
    if !cancelled() {
        put(write, &clean.text, language, with, chunked);
    }
    Ok(Some(clean.count as u64))
}

/// Fills in what was parsed, which a parser in a process of its own says and nobody vouches for.
pub(super) fn put(
    write: &mut FileWrite,
    text: &str,
    language: Option<&'static languages::Language>,
    with: &ReadWith,
    chunked: Chunked,
) {
    let Chunked { chunks, imports, flow, facts_missing, .. } = chunked;
    write.facts_missing = facts_missing;
    let findings = match (with.rules.as_deref(), language) {
        (Some(rules), Some(language)) => analyse(text, language.id, &flow, rules),
        _ => Findings::default(),
    };
    write.risk_ends = risk::ends(&findings);
    write.imports = describe::imports(&write.path, &imports);
    let is_code = write.mode == "code";
    let dictionary = with.dictionary.as_deref();
    let rows =
        chunks.into_iter().map(|chunk| chunk_write(&write.path, chunk, is_code, &findings, dictionary));
    write.chunks = rows.collect();
}

/// The rows of a text that is not from a file of the disk, parsed in this process.
#[cfg(any(test, feature = "fuzzing"))]
pub(super) fn rows(
    path: &str,
    text: &str,
    lines: u32,
    language: Option<&'static languages::Language>,
    settings: &config::Indexing,
    with: &ReadWith,
) -> Result<FileWrite, Fault> {
    let entry = Entry { path: path.to_owned(), bytes: text.len() as u64, modified_ns: 0 };
    let mut write = unread(&entry, Vec::new());
    let text = Text { text, lines, language };
    describe(&mut write, &text, settings, with, &mut Parser::new(Parsing::Here), &|| false)?;
    Ok(write)
}

fn limits(settings: &config::Indexing) -> ChunkLimits {
    ChunkLimits {
        chars_target: settings.chunk_chars_target,
        chars_max: settings.chunk_chars_max,
        chunks_max: settings.chunks_per_file_max,
        parse_timeout: Duration::from_millis(settings.parse_timeout_ms),
        facts: settings.facts,
    }
}

/// The extension in lower case, without the dot; none for `Makefile` and `.bashrc`.
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
