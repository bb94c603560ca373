//! Reads the texts of candidates page by page and matches them on blocking threads, until a limit is reached.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::lines::{MatchedLine, matched_lines};
use super::pattern::{Pattern, Scan};
use contract::Fault;
use contract::clock::Clock;
use store::{ChunkSelection, ChunkText, FilePlace, Reads};

/// Chunks of the first page that is read. Each page has twice as many as the one before.
const FIRST_PAGE_CHUNKS: usize = 128;
/// Maximum number of chunks of a page.
const PAGE_CHUNKS_MAX: usize = 1024;
/// Maximum number of files of a page.
const PAGE_FILES_MAX: usize = 1024;

/// A chunk with matching lines.
pub(in crate::search) struct MatchedChunk {
    pub(in crate::search) text: ChunkText,
    pub(super) lines: Vec<MatchedLine>,
}

/// Matches a pattern against texts of an index, for a limited time.
pub(in crate::search) struct Matcher<'a> {
    pattern: Arc<Pattern>,
    clock: &'a dyn Clock,
    deadline: Instant,
    /// Stops the blocking thread when the time is over, or the search was dropped because its call was cancelled.
    scan: StopOnDrop,
}

struct StopOnDrop(Arc<Scan>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }
}

/// The candidates of a pattern, in the order of the answer: by repository, path and line.
pub(in crate::search) enum Candidates {
    /// These chunks.
    Chunks(Vec<i64>),
    /// Too many to list: the chunks of these files that pass the trigrams and the filters.
    Files,
}

/// Candidates with their files in order.
pub(in crate::search) struct OrderedCandidates {
    pub(super) candidates: Candidates,
    pub(super) files: Vec<FilePlace>,
}

impl<'a> Matcher<'a> {
    pub(in crate::search) fn new(pattern: Arc<Pattern>, clock: &'a dyn Clock, time: Duration) -> Self {
        let deadline = clock.instant() + time;
        Self { pattern, clock, deadline, scan: StopOnDrop(Arc::default()) }
    }

    /// Returns whether the time is over.
    pub(super) fn is_over(&self) -> bool {
        self.clock.instant() >= self.deadline
    }

    /// Returns the number of lines that were skipped because they are too long for the pattern.
    pub(super) fn too_long(&self) -> usize {
        self.scan.0.too_long.load(Ordering::Relaxed)
    }

    /// Looks up the candidates in a selection. More than `chunks_max` are not listed.
    pub(in crate::search) async fn candidates(
        &self,
        reads: &mut Reads,
        selection: &ChunkSelection,
        chunks_max: usize,
    ) -> Result<OrderedCandidates, Fault> {
        let limit = i64::try_from(chunks_max).unwrap_or(i64::MAX).saturating_add(1);
        let mut found = reads.gram_candidates(selection, self.pattern.grams(), limit).await?;
        if found.len() > chunks_max {
            let mut files = reads.file_places_within(selection).await?;
            sort(&mut files);
            return Ok(OrderedCandidates { candidates: Candidates::Files, files });
        }
        let mut ids: Vec<i64> = found.iter().map(|(_, file_id)| *file_id).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut files = reads.file_places(&ids).await?;
        sort(&mut files);
        let ranks = ranks(&files);
        // Within a file, chunks have their ids in the order of their lines.
        found.sort_unstable_by_key(|(id, file_id)| (ranks.get(file_id).copied(), *id));
        found.dedup();
        let ids = found.into_iter().map(|(id, _)| id).collect();
        Ok(OrderedCandidates { candidates: Candidates::Chunks(ids), files })
    }

    /// Matches the candidates in order. `take` gets the matching chunks of each page, and the number of texts of
    /// the page; it returns whether to go on. Returns whether all candidates were matched.
    pub(in crate::search) async fn run(
        &self,
        reads: &mut Reads,
        selection: &ChunkSelection,
        ordered: &OrderedCandidates,
        mut take: impl FnMut(Vec<MatchedChunk>, usize) -> bool,
    ) -> Result<bool, Fault> {
        let ranks = ranks(&ordered.files);
        let mut size = FIRST_PAGE_CHUNKS;
        let (mut next_chunk, mut next_file) = (0, 0);
        while !self.is_over() {
            let mut texts = match &ordered.candidates {
                Candidates::Chunks(ids) => {
                    let page = &ids[next_chunk..(next_chunk + size).min(ids.len())];
                    next_chunk += page.len();
                    if page.is_empty() {
                        return Ok(true);
                    }
                    reads.chunk_texts(page).await?
                }
                Candidates::Files => {
                    let page = files_page(&ordered.files[next_file..], size);
                    next_file += page.len();
                    if page.is_empty() {
                        return Ok(true);
                    }
                    reads.texts_of_files(&page, selection, self.pattern.grams()).await?
                }
            };
            texts.sort_unstable_by_key(|text| (ranks.get(&text.file_id).copied(), text.id));
            let count = texts.len();
            let (matched, is_whole) = self.matched(texts).await?;
            let goes_on = take(matched, count);
            let is_last = match &ordered.candidates {
                Candidates::Chunks(ids) => next_chunk == ids.len(),
                Candidates::Files => next_file == ordered.files.len(),
            };
            if is_whole && is_last {
                return Ok(true);
            }
            if !goes_on || !is_whole {
                return Ok(false);
            }
            size = (size * 2).min(PAGE_CHUNKS_MAX);
        }
        Ok(false)
    }

    /// Matches texts on a blocking thread. Returns the chunks with matches, and whether the time sufficed for all texts.
    async fn matched(&self, texts: Vec<ChunkText>) -> Result<(Vec<MatchedChunk>, bool), Fault> {
        let (pattern, scan) = (Arc::clone(&self.pattern), Arc::clone(&self.scan.0));
        let mut matching = platform::task::spawn_blocking(move || {
            let mut matched = Vec::new();
            for text in texts {
                let start_line = u32::try_from(text.start_line).unwrap_or(1);
                let lines = matched_lines(&pattern, &text.content, start_line, &scan);
                if !lines.is_empty() {
                    matched.push(MatchedChunk { text, lines });
                }
            }
            matched
        });
        let failed = |error| Fault::internal("Matching failed unexpectedly.", error);
        let left = self.deadline.saturating_duration_since(self.clock.instant());
        match tokio::time::timeout(left, &mut matching).await {
            Ok(matched) => Ok((matched.map_err(failed)?, true)),
            Err(_) => {
                self.scan.0.stop.store(true, Ordering::Relaxed);
                Ok((matching.await.map_err(failed)?, false))
            }
        }
    }
}

/// Sorts files by repository and path.
fn sort(files: &mut [FilePlace]) {
    files.sort_unstable_by(|a, b| (a.repository_id, &a.path, a.id).cmp(&(b.repository_id, &b.path, b.id)));
}

/// Returns the position of each file.
fn ranks(files: &[FilePlace]) -> HashMap<i64, usize> {
    files.iter().enumerate().map(|(rank, file)| (file.id, rank)).collect()
}

/// Returns the ids of the first files that have about `chunks` chunks together; at least one, if there are any.
fn files_page(files: &[FilePlace], chunks: usize) -> Vec<i64> {
    let mut sum = 0;
    let fits = |file: &&FilePlace| {
        let before = sum;
        sum += usize::try_from(file.chunks).unwrap_or(0);
        before < chunks
    };
    files.iter().take(PAGE_FILES_MAX).take_while(fits).map(|file| file.id).collect()
}
