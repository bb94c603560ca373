//! Fuzzing entry points: an untrusted portable file, and every read of it.

use std::path::Path;
use std::sync::LazyLock;

use tokio_util::sync::CancellationToken;

use super::open::{ArtifactCommit, Limits, Meta, summarize};
use super::reader::{LexicalBackend, Reader};
use super::rows::{ChunkOut, CommentOut, FileOut, Page, RewrittenRows};
use super::writer::Writer;
use crate::{
    ChunkSelection, DefinitionRow, FileFacts, Filter, GramQuery, LexicalQuery, LexicalSource, ModelFacts,
    RepositoryRow, RepositoryState, SearchedPlaces, TermCount, Test, Versions, grams_of,
};
use contract::Fault;

const LIMITS: Limits =
    Limits { file_bytes_max: 1 << 22, value_bytes_max: 1 << 20, check_bytes_max: 0, cache_bytes: 1 << 20 };
/// Ids that exist in the file, and some that do not.
const IDS: [i64; 6] = [1, 2, 3, -1, 0, i64::MAX];
const HASH: [u8; 32] = [7; 32];

/// A valid file with at least one row in each table.
pub fn base() -> &'static [u8] {
    static BASE: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let path = std::env::temp_dir().join(format!("pairofcleats-fuzz-base-{}.sqlite", std::process::id()));
        drop(std::fs::remove_file(&path));
        let bytes = write_sample(&path).ok().and_then(|()| std::fs::read(&path).ok());
        drop(std::fs::remove_file(&path));
        bytes.unwrap_or_default()
    });
    assert!(!BASE.is_empty(), "the file could not be written");
    &BASE
}

#[expect(clippy::too_many_lines, reason = "writes a row into each table")]
fn write_sample(path: &Path) -> Result<(), Fault> {
    let stop = CancellationToken::new();
    let mut writer = Writer::create(path, LIMITS, &stop)?;
    let text = |text: &str| Some(text.to_owned());
    let chunk = |id: i64| ChunkOut {
        id,
        file_id: 1,
        ordinal: i32::try_from(id).unwrap_or(0),
        lines: (1, 3),
        kind: "function".to_owned(),
        name: text("retry"),
        name_line: Some(1),
        defines: vec!["retry".to_owned()],
        signature: text("fn retry()"),
        content: "fn retry() {\n    sleep();\n}".to_owned(),
        content_hash: HASH.to_vec(),
        detail: text(r#"{"calls":[]}"#),
        counts: [Some(1), Some(0), None, None],
        facts: vec![11, 12],
        term_weights: vec![(5, 1.5), (6, 0.5)],
    };
    let history = FileFacts { last_author: text("Ann"), last_modified_s: Some(1), ..FileFacts::default() };
    let page = Page {
        files: vec![FileOut {
            id: 1,
            repository_id: 1,
            path: "src/a.rs".to_owned(),
            language: text("rust"),
            extension: text("rs"),
            mode: "code".to_owned(),
            bytes: 27,
            lines: 3,
            content_hash: HASH.to_vec(),
            imports: vec![13],
            meta: Some(vec!["owner=core".to_owned()]),
            history,
        }],
        chunks: vec![chunk(1), chunk(2)],
        definitions: vec![DefinitionRow {
            chunk_id: 1,
            name: "retry".to_owned(),
            qualified: "a::retry".to_owned(),
            kind: "function".to_owned(),
            line: 1,
            column: 4,
            start_line: 1,
            end_line: 3,
            ids: Some(vec![11]),
            language: None,
            ..DefinitionRow::default()
        }],
        comments: vec![CommentOut {
            chunk_id: 1,
            lines: (1, 1),
            content: "again".to_owned(),
            term_weights: vec![(7, 1.0)],
        }],
        vectors: vec![(HASH.to_vec(), vec![0.5; 4])],
    };
    writer.put(&page)?;
    let count = |(term, chunks)| TermCount { repository_id: 1, term, chunks };
    let name = |id: i64, name: &str| (id, 1, name.to_owned(), name.to_owned());
    writer.put_rewritten(&RewrittenRows::Names(vec![
        name(11, "sleep"),
        name(12, "retry"),
        name(13, "std::time"),
    ]))?;
    writer.put_rewritten(&RewrittenRows::Terms([(5, 2), (6, 2), (7, 1)].map(count).to_vec()))?;
    writer.put_rewritten(&RewrittenRows::Authors(vec![(1, vec![12])]))?;
    writer.put_rewritten(&RewrittenRows::Users(vec![(1, 3)]))?;
    let model = ModelFacts { id: "model".into(), variant: "fp32".into(), hash: HASH.to_vec(), dimensions: 4 };
    let meta = Meta {
        project: text("client-a"),
        repository: None,
        mode: "all".to_owned(),
        model,
        built_at: "2026-01-01T00:00:00Z".to_owned(),
        generation: 1,
        updated_ms: 1,
        statistics_chunks: 2,
        commit: Some(ArtifactCommit { id: "0123456789".repeat(4), is_dirty: false }),
    };
    let repository = RepositoryRow {
        id: 1,
        root: String::new(),
        name: "shop".to_owned(),
        state: RepositoryState::Ready,
        generation: 1,
        versions: Versions::default(),
        files: 1,
        chunks: 2,
        statistics_chunks: 2,
        is_counted: true,
        indexed_ms: Some(1),
        branch: text("main"),
        commit: None,
        report: None,
    };
    writer.finish(&meta, &[repository]).map(drop)
}

/// Runs every read on a file. Whatever it contains, each must return or fail without a panic, and scores must be numbers.
pub fn read(file: &Path) {
    drop(summarize(file, LIMITS, &CancellationToken::new()));
    for lexical_backend in [LexicalBackend::Postings, LexicalBackend::Fts] {
        let Ok(reader) = Reader::open(file, LIMITS, lexical_backend, &CancellationToken::new()) else {
            return;
        };
        run_all_reads(&reader);
    }
}

fn run_all_reads(reader: &Reader) {
    drop((
        reader.terms_versions(),
        reader.state(),
        reader.repositories(),
        reader.count(),
        reader.any_records(),
    ));
    drop((reader.pending_within(&[1]), reader.languages(&Filter::All(Vec::new())), reader.hydrate(&IDS)));
    drop((
        reader.contents(&IDS),
        reader.by_file(1),
        reader.details(&IDS),
        reader.overview(&[5, 6], &[]),
        reader.comments(&IDS),
    ));
    drop((
        reader.names_of_chunks(&IDS),
        reader.chunks_with_facts(&[(11, 1), (-1, 0)], 10),
        reader.of_files(&IDS),
    ));
    drop((
        reader.chunks_with(&[11, 12], true),
        reader.definitions(&IDS),
        reader.document_frequencies(&[1], &[5, 6, 7]),
    ));
    drop((reader.listed(&ChunkSelection::All, 10), reader.vectors(&[HASH.to_vec()])));
    let whole = SearchedPlaces { repositories: &[1], selection: &ChunkSelection::All };
    drop((reader.places(&IDS), reader.other_places(&IDS, whole)));
    let grams = GramQuery::HasAll(grams_of("retry"));
    for selection in [ChunkSelection::All, ChunkSelection::Listed(IDS.to_vec())] {
        drop((
            reader.gram_candidates(&selection, &grams, 10),
            reader.file_places_within(&selection),
            reader.texts_of_files(&IDS, &selection, &grams),
        ));
    }
    drop((reader.chunk_texts(&IDS), reader.file_places(&IDS)));
    let query = LexicalQuery {
        terms: vec![5, 6],
        weights: vec![1.0, 0.5],
        keep: vec![5],
        words: vec!["retry".to_owned(), "sleep".to_owned()],
    };
    let pattern = Test::Text("(?i)retry".to_owned());
    let filters = [Filter::Is(Test::Facts(vec![11])), Filter::Is(pattern), Filter::Is(Test::HasComments)];
    let mut selection = vec![ChunkSelection::All, ChunkSelection::Listed(IDS.to_vec())];
    selection.extend(filters.into_iter().filter_map(|filter| reader.select_chunks(&filter).ok()));
    for selection in &selection {
        for words in [LexicalSource::Chunks, LexicalSource::Comments] {
            for hit in reader.candidates(words, selection, &query, 10).unwrap_or_default() {
                assert!(!hit.score.is_nan(), "{hit:?}");
            }
        }
        for hit in reader.candidates_exact(selection, &[0.5; 4], 10).unwrap_or_default() {
            assert!(hit.similarity.is_finite(), "{hit:?}");
        }
    }
    for id in IDS {
        if let Ok((_, Some(vector))) = reader.of_chunk(id) {
            assert!(vector.iter().all(|number| number.is_finite()), "{vector:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_file_is_valid() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), base()).unwrap();
        let reader =
            Reader::open(file.path(), LIMITS, LexicalBackend::Postings, &CancellationToken::new()).unwrap();
        assert_eq!(reader.count().unwrap(), 2);
        read(file.path());
    }
}
