//! Lexical, dense and filtered retrieval compared with brute force.

use std::collections::{BTreeSet, HashMap};

use contract::ErrorCode;
use store::{
    self, Access, ChunkSelection, Counted, FileWrite, Filter, LexicalQuery, LexicalSource, Project,
    ProjectTx, Store, Test,
};

use sqlx::PgConnection;

use crate::harness::Dice;
use crate::storage::database::{Fresh, file, number, repository, run, searching, term, write, writing};

const K1: f64 = 1.2;
const B: f64 = 0.75;
const MEAN_LENGTH: f64 = 12.0;

/// The term-frequency part of BM25 for each word of a text, by term id.
fn weights(words: &[String]) -> Vec<(i32, f32)> {
    let mut counts: HashMap<i32, f64> = HashMap::new();
    for word in words {
        *counts.entry(term(word)).or_default() += 1.0;
    }
    let norm = K1 * (1.0 - B + B * words.len() as f64 / MEAN_LENGTH);
    let mut weights: Vec<_> =
        counts.into_iter().map(|(t, tf)| (t, (tf * (K1 + 1.0) / (tf + norm)) as f32)).collect();
    weights.sort_unstable_by_key(|(t, _)| *t);
    weights
}

struct Corpus {
    fresh: Fresh,
    project: Project,
    repo: i64,
    fence: store::Fence,
    /// The words of each chunk, by its content.
    texts: HashMap<String, Vec<String>>,
}

/// Files in two languages and two folders; their chunks consist of words `w0` to `w59`, low numbers being the most frequent.
async fn corpus(files: u64) -> Corpus {
    let fresh = Fresh::new().await;
    let project = fresh.project("p").await;
    let (fence, repo) = repository(&fresh.store, &project).await;
    let mut dice = Dice(7);
    let mut texts = HashMap::new();
    let mut batch: Vec<FileWrite> = Vec::new();
    for number in 0..files {
        let python = number % 3 == 0;
        let path = format!(
            "{}/f{number}.{}",
            if number % 2 == 0 { "src" } else { "tests" },
            if python { "py" } else { "rs" }
        );
        let mut write = file(&path, &[]);
        write.language = Some(if python { "python" } else { "rust" });
        for line in 1..=5 {
            let words: Vec<String> = (0..4 + dice.roll(16))
                .map(|_| {
                    let spread = 1 + dice.roll(60);
                    format!("w{}", dice.roll(spread))
                })
                .collect();
            let text = format!("{} {number}-{line}", words.join(" "));
            let mut chunk = file(&path, &[text.as_str()]).chunks.remove(0);
            (chunk.words.terms, chunk.words.weights) = weights(&words).into_iter().unzip();
            chunk.start_line = line;
            write.chunks.push(chunk);
            texts.insert(text, words);
        }
        batch.push(write);
    }
    crate::storage::database::write(&fresh.store, &project, fence, repo, &batch).await;
    let mut tx = writing(&fresh.store, &project).await;
    store::statistics::rebuild(&mut tx, fence, repo).await.unwrap();
    tx.commit().await.unwrap();
    Corpus { fresh, project, repo, fence, texts }
}

async fn all_chunks(tx: &mut ProjectTx, repo: i64) -> Vec<(i64, i64, String, String)> {
    let mut all = Vec::new();
    for row in store::files::manifest(tx, repo).await.unwrap() {
        let ids: Vec<i64> =
            store::chunks::by_file(tx, row.id).await.unwrap().iter().map(|span| span.id).collect();
        for (id, text) in store::chunks::contents(tx, &ids).await.unwrap() {
            all.push((id, row.id, row.path.clone(), text));
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn lexical_candidates_are_ranked_by_bm25() {
    let corpus = corpus(120).await;
    assert!(
        store::lexical::ensure_terms_index(&corpus.fresh.store, &corpus.project, corpus.fence, 64)
            .await
            .unwrap()
    );
    assert!(
        !store::lexical::ensure_terms_index(&corpus.fresh.store, &corpus.project, corpus.fence, 64)
            .await
            .unwrap()
    );
    let mut tx = searching(&corpus.fresh.store, &corpus.project).await;
    let all = all_chunks(&mut tx, corpus.repo).await;
    assert_eq!(
        store::repositories::list(&mut tx).await.unwrap()[0].statistics_chunks,
        i64::try_from(all.len()).unwrap()
    );
    let only_python = Filter::All(vec![
        Test::Languages(vec!["python".into()]).into(),
        Test::Paths(vec!["^src/".into()]).into(),
    ]);
    let mut dice = Dice(11);
    for round in 0..40 {
        let words: BTreeSet<String> = (0..1 + dice.roll(4)).map(|_| format!("w{}", dice.roll(60))).collect();
        let mut terms: Vec<i32> = words.iter().map(|word| term(word)).collect();
        terms.sort_unstable();
        let counts = store::statistics::document_frequencies(&mut tx, &[corpus.repo], &terms).await.unwrap();
        let df: HashMap<i32, i32> = counts.iter().map(|count| (count.term, count.chunks)).collect();
        let idf = |t: i32| {
            let n = f64::from(df.get(&t).copied().unwrap_or(0));
            (((all.len() as f64 - n + 0.5) / (n + 0.5)) + 1.0).ln()
        };
        let query = LexicalQuery {
            weights: terms.iter().map(|t| idf(*t) as f32).collect(),
            keep: terms.clone(),
            terms,
            ..LexicalQuery::default()
        };
        let selection = match round % 4 {
            0 | 2 => ChunkSelection::All,
            1 => ChunkSelection::Matching(only_python.clone()),
            _ => store::select_chunks(&mut tx, &only_python, (10_000, 0)).await.unwrap(),
        };
        let hits =
            store::lexical::candidates(&mut tx, LexicalSource::Chunks, &selection, &query, 20).await.unwrap();

        let is_selected = |path: &str| round % 2 == 0 || (path.ends_with(".py") && path.starts_with("src/"));
        let mut expected: Vec<(i64, f64)> = all
            .iter()
            .filter(|(_, _, path, _)| is_selected(path))
            .filter_map(|(id, _, _, text)| {
                let weights: HashMap<i32, f32> = weights(&corpus.texts[text]).into_iter().collect();
                let parts: Vec<f64> =
                    query.terms.iter().filter_map(|t| Some(f64::from(*weights.get(t)?) * idf(*t))).collect();
                (!parts.is_empty()).then(|| (*id, parts.iter().sum()))
            })
            .collect();
        expected.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        expected.truncate(20);
        assert_eq!(hits.len(), expected.len(), "{words:?}");
        let scored: HashMap<i64, f64> = completed_scores(&mut tx, &query, &hits).await;
        for (hit, (_, score)) in hits.iter().zip(&expected) {
            assert!((hit.score - score).abs() < 1e-3, "{words:?}: {} is not {score}", hit.score);
            assert!((scored[&hit.chunk_id] - hit.score).abs() < 1e-9);
        }
    }
    tx.commit().await.unwrap();
    corpus.fresh.remove().await;
}

async fn completed_scores(
    tx: &mut ProjectTx,
    query: &LexicalQuery,
    hits: &[store::LexicalHit],
) -> HashMap<i64, f64> {
    let ids: Vec<i64> = hits.iter().map(|hit| hit.chunk_id).collect();
    let completed = complete(tx, &ids, query, None).await;
    assert!(completed.iter().all(|candidate| candidate.similarity.is_none()));
    completed.iter().filter_map(|candidate| Some((candidate.id, candidate.lexical?))).collect()
}

/// The candidates `ids` with their lexical scores, and with their similarities where there is a query vector.
async fn complete(
    tx: &mut ProjectTx,
    ids: &[i64],
    words: &LexicalQuery,
    query_vector: Option<&[f32]>,
) -> Vec<store::Candidate> {
    let (needs_lexical, needs_similarity) = (vec![true; ids.len()], vec![query_vector.is_some(); ids.len()]);
    let sources = &[LexicalSource::Comments, LexicalSource::Chunks];
    let completion = store::Completion {
        ids,
        needs_lexical: &needs_lexical,
        needs_similarity: &needs_similarity,
        sources,
        words: &[store::CandidateWords { repository_id: None, query: words.clone(), other: None }],
        counts_users: true,
        query_vector,
    };
    store::chunks::candidates(tx, &completion).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_count_and_select_the_same_rows() {
    let corpus = corpus(60).await;
    let mut tx = searching(&corpus.fresh.store, &corpus.project).await;
    let all = all_chunks(&mut tx, corpus.repo).await;
    type Rule = fn(&str) -> bool;
    let test = |test: Test| Filter::from(test);
    let not = |filter: Filter| Filter::Not(Box::new(filter));
    let paths = |patterns: &[&str]| Test::Paths(patterns.iter().map(|p| (*p).to_owned()).collect());
    let cases: [(Filter, Rule); 12] = [
        (Filter::EVERYTHING, |_| true),
        (Filter::Any(Vec::new()), |_| false),
        (test(Test::Languages(vec!["python".into()])), |p| p.ends_with(".py")),
        (not(Test::Languages(vec!["python".into()]).into()), |p| !p.ends_with(".py")),
        (test(Test::Extensions(vec!["rs".into(), "go".into()])), |p| p.ends_with(".rs")),
        (test(paths(&["^src/"])), |p| p.starts_with("src/")),
        (test(paths(&["^src/f1", "f2"])), |p| p.starts_with("src/f1") || p.contains("f2")),
        (test(paths(&["(?i)SRC/F1", "(?i)\\.py"])), |p| p.contains("src/f1") || p.contains(".py")),
        (not(Test::AtLeast(Counted::Loops, 0).into()), |_| true),
        (test(Test::FileNames(vec!["^f1".into()])), |p| p.rsplit('/').next().unwrap().starts_with("f1")),
        (test(Test::Repositories(vec![-1])), |_| false),
        (Filter::Any(vec![paths(&["f3"]).into(), not(paths(&["^src/"]).into())]), |p| {
            p.contains("f3") || !p.starts_with("src/")
        }),
    ];
    for (filter, rule) in cases {
        let expected: BTreeSet<i64> =
            all.iter().filter(|(_, _, path, _)| rule(path)).map(|(id, ..)| *id).collect();
        if expected.len() > 1 && !filter.is_empty() {
            let unlisted = store::select_chunks(&mut tx, &filter, (1, 0)).await.unwrap();
            assert!(
                matches!(unlisted, ChunkSelection::Matching(_)),
                "too many rows to be listed by id: {unlisted:?}"
            );
        }
        let selection = store::select_chunks(&mut tx, &filter, (10_000, 0)).await.unwrap();
        let (listed, total) = store::listed(&mut tx, &selection, 10_000).await.unwrap();
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), expected, "{filter:?}");
        assert_eq!(usize::try_from(total).unwrap(), expected.len(), "{filter:?}");
        if let ChunkSelection::Listed(ids) = &selection {
            assert_eq!(ids.iter().copied().collect::<BTreeSet<_>>(), expected, "{filter:?}");
        }
        let terms: Vec<i32> =
            (0..60).map(|w| term(&format!("w{w}"))).collect::<BTreeSet<_>>().into_iter().collect();
        let query = LexicalQuery {
            weights: vec![1.0; terms.len()],
            keep: terms.clone(),
            terms,
            ..LexicalQuery::default()
        };
        let unlisted = store::select_chunks(&mut tx, &filter, (0, 0)).await.unwrap();
        for selection in [selection, unlisted, ChunkSelection::Matching(filter.clone())] {
            let hits = store::lexical::candidates(&mut tx, LexicalSource::Chunks, &selection, &query, 10_000)
                .await
                .unwrap();
            assert_eq!(
                hits.iter().map(|hit| hit.chunk_id).collect::<BTreeSet<_>>(),
                expected,
                "{selection:?}"
            );
        }
    }
    tx.commit().await.unwrap();
    corpus.fresh.remove().await;
}

async fn embed(store: &Store, project: &Project, fence: store::Fence) -> HashMap<Vec<u8>, Vec<f32>> {
    let mut dice = Dice(5);
    let mut tx = writing(store, project).await;
    let pending = store::vectors::pending(&mut tx, None, 100_000).await.unwrap();
    let hashes: Vec<Vec<u8>> = pending.into_iter().map(|text| text.hash).collect();
    let vectors: Vec<Vec<f32>> = hashes.iter().map(|_| dice.unit_vector(8)).collect();
    store::vectors::insert(&mut tx, fence, &hashes, &vectors).await.unwrap();
    tx.commit().await.unwrap();
    hashes.into_iter().zip(vectors).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn dense_candidates_are_the_nearest_vectors() {
    let corpus = corpus(800).await;
    let (store, project) = (&corpus.fresh.store, &corpus.project);
    // The same text in two files: one vector, two chunks.
    write(
        store,
        project,
        corpus.fence,
        corpus.repo,
        &[file("src/x.py", &["duplicate"]), file("src/y.py", &["duplicate"])],
    )
    .await;
    let vectors = embed(store, project, corpus.fence).await;
    assert!(!store::vectors::ensure_hnsw(store, project, corpus.fence, 1_000_000, 64).await.unwrap());
    assert!(store::vectors::ensure_hnsw(store, project, corpus.fence, 1_000, 64).await.unwrap());
    assert!(!store::vectors::ensure_hnsw(store, project, corpus.fence, 1_000, 64).await.unwrap());

    let mut tx = searching(store, project).await;
    assert!(store::index_state::read(&mut tx).await.unwrap().vectors_indexed);
    let all = all_chunks(&mut tx, corpus.repo).await;
    let by_path = Filter::from(Test::Paths(vec!["^src/".into()]));
    let files = store::select_chunks(&mut tx, &by_path, (0, 0)).await.unwrap();
    assert!(
        matches!(&files, ChunkSelection::Matching(filter) if filter.files().is_some()),
        "the filter depends on files only: {files:?}"
    );
    let mut dice = Dice(23);
    let (mut found, mut expected_hits) = (0, 0);
    for round in 0..30 {
        let query_vector = dice.unit_vector(8);
        let filter = match round % 4 {
            0 | 2 => ChunkSelection::All,
            1 => ChunkSelection::Matching(by_path.clone()),
            _ => files.clone(),
        };
        let mut expected: Vec<f64> = all
            .iter()
            .filter(|(_, _, path, _)| round % 2 == 0 || path.starts_with("src/"))
            .map(|(_, _, _, text)| {
                let vector = &vectors[&blake3::hash(text.as_bytes()).as_bytes().to_vec()];
                vector.iter().zip(&query_vector).map(|(a, b)| f64::from(a * b)).sum()
            })
            .collect();
        expected.sort_by(|a, b| b.total_cmp(a));
        let exact = store::vectors::candidates_exact(&mut tx, &filter, &query_vector, 20).await.unwrap();
        assert_eq!(exact.len(), 20);
        for (hit, similarity) in exact.iter().zip(&expected) {
            assert!(
                (hit.similarity - similarity).abs() < 5e-3,
                "half precision: {} {similarity}",
                hit.similarity
            );
        }
        let hnsw = store::vectors::candidates_hnsw(&mut tx, &filter, &query_vector, 20, 100).await.unwrap();
        let exact_ids: BTreeSet<i64> = exact.iter().map(|hit| hit.chunk_id).collect();
        expected_hits += exact_ids.len();
        found += hnsw.iter().filter(|hit| exact_ids.contains(&hit.chunk_id)).count();
        assert!(hnsw.windows(2).all(|pair| pair[0].similarity >= pair[1].similarity));
        assert_completed_similarities(&mut tx, &exact, &query_vector).await;
    }
    assert!(found * 100 >= expected_hits * 95, "HNSW found {found} of {expected_hits}");
    tx.commit().await.unwrap();

    let shared = vectors[&blake3::hash(b"duplicate").as_bytes().to_vec()].clone();
    let mut tx = ProjectTx::begin(store, project, Access::Search).await.unwrap();
    let hits = store::vectors::candidates_exact(&mut tx, &ChunkSelection::All, &shared, 2).await.unwrap();
    assert!(hits[0].similarity > 0.99 && hits[1].similarity > 0.99 && hits[0].file_id != hits[1].file_id);
    tx.commit().await.unwrap();

    // The approximate searches really used the HNSW index.
    corpus.fresh.leave(store).await;
    let scans = "SELECT idx_scan FROM pg_stat_user_indexes WHERE schemaname = 'project_p' AND indexrelname = 'vectors_hnsw'";
    let mut raw = corpus.fresh.raw().await;
    assert_eq!(number(&mut raw, scans).await, 30);

    assert_exact_fallback(&corpus, &mut raw).await;
    corpus.fresh.remove().await;
}

/// Completing candidates must yield the same similarities as the dense retriever.
async fn assert_completed_similarities(tx: &mut ProjectTx, exact: &[store::VectorHit], query_vector: &[f32]) {
    let ids: Vec<i64> = exact.iter().map(|hit| hit.chunk_id).collect();
    let completed: HashMap<i64, f64> = complete(tx, &ids, &LexicalQuery::default(), Some(query_vector))
        .await
        .iter()
        .map(|candidate| (candidate.id, candidate.similarity.unwrap()))
        .collect();
    assert!(exact.iter().all(|hit| (completed[&hit.chunk_id] - hit.similarity).abs() < 1e-9));
}

/// When the HNSW scan stops before it has found enough, as in large projects, every vector is compared.
async fn assert_exact_fallback(corpus: &Corpus, raw: &mut PgConnection) {
    run(raw, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET hnsw.max_scan_tuples = 1', current_database()); END $$").await;
    let store = corpus.fresh.another().await;
    let mut tx = searching(&store, &corpus.project).await;
    let filter = Filter::from(Test::Paths(vec!["/f1.\\.".into()]));
    let (selection, query_vector) = (ChunkSelection::Matching(filter), Dice(5).unit_vector(8));
    let hits = store::vectors::candidates_hnsw(&mut tx, &selection, &query_vector, 20, 10).await.unwrap();
    assert_eq!(hits, store::vectors::candidates_exact(&mut tx, &selection, &query_vector, 20).await.unwrap());
    tx.commit().await.unwrap();
    store.database().close().await;
}

/// Postgres refuses this pattern when it first compares a row with it. The request is at fault, not the storage.
#[tokio::test(flavor = "multi_thread")]
async fn a_pattern_that_is_too_complex_is_the_callers_fault() {
    let fresh = Fresh::new().await;
    let project = fresh.project("p").await;
    let (fence, repo) = repository(&fresh.store, &project).await;
    write(&fresh.store, &project, fence, repo, &[file("src/a.rs", &["ant"])]).await;
    let pattern = "(?:(?:x){255}){255}".to_owned();
    for test in
        [Test::Paths(vec![pattern.clone()]), Test::FileNames(vec![pattern.clone()]), Test::Text(pattern)]
    {
        let mut tx = searching(&fresh.store, &project).await;
        let selection = ChunkSelection::Matching(test.into());
        let fault = store::listed(&mut tx, &selection, 10).await.unwrap_err();
        assert_eq!((fault.code, fault.retryable), (ErrorCode::InvalidRequest, false), "{fault:?}");
        assert!(fault.hint.is_some(), "{fault:?}");
    }
    fresh.remove().await;
}
