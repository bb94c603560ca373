//! Writes: the rows of a file are replaced as a whole, and only by the holder of the current fence.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use contract::{ErrorCode, Fault};
use regex::Regex;
use serde_json::json;
use store::{self, AttributedFile, Fence, FileWrite, ProjectTx, RepositoryState, files::Touched};

use crate::harness::Dice;
use crate::storage::database::{
    Fresh, VERSIONS, file, number, repository, run, searching, term, write, writing,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_replaces_chunks_and_keeps_file_ids() {
    let fresh = Fresh::new().await;
    let project = fresh.project("p").await;
    let (fence, repo) = repository(&fresh.store, &project).await;
    let written = write(
        &fresh.store,
        &project,
        fence,
        repo,
        &[file("a.rs", &["one", "two"]), file("b.rs", &["three"])],
    )
    .await;
    assert_eq!((written.files, written.chunks, written.chunks_removed), (2, 3, 0));
    let mut tx = searching(&fresh.store, &project).await;
    let before = store::files::manifest(&mut tx, repo).await.unwrap();
    tx.commit().await.unwrap();

    let skipped = FileWrite { skipped: Some("binary"), content_hash: Vec::new(), ..file("c.bin", &[]) };
    let written = write(&fresh.store, &project, fence, repo, &[file("a.rs", &["four é"]), skipped]).await;
    assert_eq!((written.files, written.chunks, written.chunks_removed), (2, 1, 2));

    let mut tx = searching(&fresh.store, &project).await;
    let after = store::files::manifest(&mut tx, repo).await.unwrap();
    let summary = |row: &store::FileRow| (row.path.clone(), row.chunks, row.skipped.clone());
    assert_eq!(
        after.iter().map(summary).collect::<Vec<_>>(),
        [("a.rs".into(), 1, None), ("b.rs".into(), 1, None), ("c.bin".into(), 0, Some("binary".into()))]
    );
    assert_eq!((after[0].id, after[1].id), (before[0].id, before[1].id), "a file that stays keeps its id");
    let spans = store::chunks::by_file(&mut tx, after[0].id).await.unwrap();
    assert_eq!(spans.len(), 1);
    assert_eq!((spans[0].start_line, spans[0].name.as_deref()), (1, Some("Outer.four")));
    assert_eq!(spans[0].defines, ["four", "é"]);
    let contents = store::chunks::contents(&mut tx, &[spans[0].id, 999_999]).await.unwrap();
    assert_eq!(contents, [(spans[0].id, "four é".to_owned())]);
    let row = &store::chunks::hydrate(&mut tx, &[spans[0].id]).await.unwrap()[0];
    assert_eq!(
        (row.path.as_str(), row.repository_root.as_str(), row.language.as_deref()),
        ("a.rs", "/repo", Some("rust"))
    );
    let totals = store::files::totals(&mut tx, Some(repo)).await.unwrap();
    assert_eq!((totals.files, totals.skipped, totals.chunks, totals.bytes), (2, 1, 2, 20));
    assert_eq!(
        store::breakdown::languages(&mut tx, &store::Test::Repositories(vec![repo]).into())
            .await
            .unwrap()
            .len(),
        1
    );
    tx.commit().await.unwrap();
    fresh.remove().await;
}

/// Applies random batches and deletions to the store and to a map, then compares chunks and term statistics with the map. The terms
/// are counted once, early on; after that each batch keeps the counts exact.
#[tokio::test(flavor = "multi_thread")]
async fn random_writes_leave_what_a_map_model_holds() {
    const WORDS: [&str; 8] = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen"];
    let fresh = Fresh::new().await;
    let project = fresh.project("p").await;
    let (fence, repo) = repository(&fresh.store, &project).await;
    let mut dice = Dice(1);
    let mut expected: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for round in 0..25 {
        if round == 4 {
            let mut tx = writing(&fresh.store, &project).await;
            assert_eq!(store::statistics::uncounted(&mut tx).await.unwrap(), [repo]);
            store::statistics::rebuild(&mut tx, fence, repo).await.unwrap();
            tx.commit().await.unwrap();
        }
        let mut batch: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for _ in 0..1 + dice.roll(6) {
            let texts = (0..dice.roll(5)).map(|_| WORDS[usize::try_from(dice.roll(8)).unwrap()]).collect();
            batch.insert(format!("f{}.rs", dice.roll(12)), texts);
        }
        let files: Vec<_> = batch.iter().map(|(path, texts)| file(path, texts)).collect();
        write(&fresh.store, &project, fence, repo, &files).await;
        expected.extend(batch);
        if dice.roll(3) == 0 {
            let mut tx = writing(&fresh.store, &project).await;
            let deleted = store::files::manifest(&mut tx, repo).await.unwrap().remove(0);
            let removed = store::files::delete(&mut tx, fence, &[deleted.id]).await.unwrap();
            tx.commit().await.unwrap();
            assert_eq!(usize::try_from(removed).unwrap(), expected.remove(&deleted.path).unwrap().len());
        }
    }
    let mut tx = writing(&fresh.store, &project).await;
    let mut stored = BTreeMap::new();
    for row in store::files::manifest(&mut tx, repo).await.unwrap() {
        let spans = store::chunks::by_file(&mut tx, row.id).await.unwrap();
        let ids: Vec<i64> = spans.iter().map(|span| span.id).collect();
        let texts: Vec<String> =
            store::chunks::contents(&mut tx, &ids).await.unwrap().into_iter().map(|(_, text)| text).collect();
        assert_eq!(usize::try_from(row.chunks).unwrap(), texts.len());
        stored.insert(row.path, texts);
    }
    let expected: BTreeMap<String, Vec<String>> = expected
        .into_iter()
        .map(|(path, texts)| (path, texts.into_iter().map(str::to_owned).collect()))
        .collect();
    assert_eq!(stored, expected);

    assert!(store::statistics::uncounted(&mut tx).await.unwrap().is_empty());
    assert_eq!(store::statistics::unused(&mut tx).await.unwrap(), []);
    let state = store::index_state::publish(&mut tx, fence).await.unwrap();
    let mut frequencies: HashMap<i32, i32> = HashMap::new();
    for text in expected.values().flatten() {
        *frequencies.entry(term(text)).or_default() += 1;
    }
    let terms: Vec<i32> = WORDS.iter().map(|word| term(word)).collect();
    let counted: HashMap<i32, i32> = frequencies_of(&mut tx, repo, &terms).await.into_iter().collect();
    assert_eq!(counted, frequencies);
    let chunks = i64::try_from(expected.values().flatten().count()).unwrap();
    assert_eq!((state.chunks, state.generation, state.statistics_due), (chunks, 1, false));
    assert_eq!(store::repositories::list(&mut tx).await.unwrap()[0].statistics_chunks, chunks);
    tx.commit().await.unwrap();
    fresh.remove().await;
}

async fn frequencies_of(tx: &mut ProjectTx, repository: i64, terms: &[i32]) -> Vec<(i32, i32)> {
    let counts = store::statistics::document_frequencies(tx, &[repository], terms).await.unwrap();
    assert!(counts.iter().all(|count| count.repository_id == repository));
    counts.iter().map(|count| (count.term, count.chunks)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_omit_terms_of_removed_chunks() {
    let fresh = Fresh::new().await;
    let project = fresh.project("p").await;
    let (fence, repo) = repository(&fresh.store, &project).await;
    for texts in [["ant bee", "bee"], ["bee", "cat"]] {
        write(&fresh.store, &project, fence, repo, &[file("a.rs", &texts)]).await;
        let mut tx = writing(&fresh.store, &project).await;
        store::statistics::rebuild(&mut tx, fence, repo).await.unwrap();
        tx.commit().await.unwrap();
    }
    let mut tx = searching(&fresh.store, &project).await;
    let mut counted = frequencies_of(&mut tx, repo, &[term("ant"), term("bee"), term("cat")]).await;
    counted.sort_unstable();
    let mut expected = [(term("bee"), 1), (term("cat"), 1)];
    expected.sort_unstable();
    assert_eq!(counted, expected);
    tx.commit().await.unwrap();
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_without_chunks_are_removed() {
    let fresh = Fresh::new().await;
    let project = fresh.project("p").await;
    let (fence, repo) = repository(&fresh.store, &project).await;
    let calling = |name: &str| {
        let mut calling = file("a.rs", &["ant"]);
        calling.chunks[0].facts = vec![(14, name.to_owned())];
        [calling]
    };
    write(&fresh.store, &project, fence, repo, &calling("crawl")).await;
    write(&fresh.store, &project, fence, repo, &calling("carry")).await;
    let mut tx = writing(&fresh.store, &project).await;
    let find_names = async |tx: &mut store::ProjectTx| {
        store::names::containing(tx, &[14], &["cra".to_owned(), "car".to_owned()], 9).await.unwrap()
    };
    let (crawl, carry) = (store::fact_id(14, "crawl"), store::fact_id(14, "carry"));
    let before = find_names(&mut tx).await;
    assert!(before.contains(&crawl) && before.contains(&carry), "{before:?}");
    assert_eq!(store::names::remove_orphans(&mut tx, fence).await.unwrap().rows, 1);
    assert_eq!(find_names(&mut tx).await, [carry]);
    tx.commit().await.unwrap();
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_lose_their_history_with_their_text_and_when_an_attempt_fails() {
    let fresh = Fresh::new().await;
    let project = fresh.project("p").await;
    let (fence, repo) = repository(&fresh.store, &project).await;
    let files = [file("a.rs", &["ant"]), file("b.rs", &["bee"]), file("c.rs", &["cat"])];
    write(&fresh.store, &project, fence, repo, &files).await;
    let mut tx = writing(&fresh.store, &project).await;
    let ids: Vec<i64> =
        store::files::manifest(&mut tx, repo).await.unwrap().into_iter().map(|row| row.id).collect();
    let attributed = |at: usize, state: &str, lines: Option<Vec<u8>>| AttributedFile {
        file_id: ids[at],
        attributed_to: state.to_owned(),
        lines,
    };
    let stored = async |tx: &mut ProjectTx| {
        let mut stored = Vec::new();
        for id in &ids {
            let row = store::history::lines_of_file(tx, *id).await.unwrap();
            stored.push((row.attributed_to, row.lines));
        }
        stored
    };
    let known = &mut store::KnownNames::default();
    let all = [0, 1, 2].map(|at| attributed(at, "done", Some(vec![7])));
    store::history::write_authors(&mut tx, fence, &all, &[], known).await.unwrap();
    let done = (Some("done".to_owned()), Some(vec![7_u8]));
    assert_eq!(stored(&mut tx).await, [done.clone(), done.clone(), done.clone()]);
    let failed = [attributed(0, "late", None)];
    store::history::write_authors(&mut tx, fence, &failed, &[], known).await.unwrap();
    tx.commit().await.unwrap();

    write(&fresh.store, &project, fence, repo, &[file("b.rs", &["bear"])]).await;
    let mut tx = writing(&fresh.store, &project).await;
    assert_eq!(stored(&mut tx).await, [(Some("late".to_owned()), None), (None, None), done]);
    store::files::delete(&mut tx, fence, &[ids[2]]).await.unwrap();
    tx.commit().await.unwrap();
    let left = number(&mut fresh.raw().await, "SELECT count(*) FROM project_p.line_history").await;
    assert_eq!(left, 0);
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_keeps_its_report_and_is_deleted_completely() {
    let fresh = Fresh::new().await;
    let project = fresh.project("p").await;
    let (fence, repo) = repository(&fresh.store, &project).await;
    write(&fresh.store, &project, fence, repo, &[file("a.rs", &["ant"])]).await;
    let mut tx = writing(&fresh.store, &project).await;
    assert_eq!(store::repositories::ensure(&mut tx, fence, "/repo", "other", VERSIONS).await.unwrap(), repo);
    let other = store::repositories::ensure(&mut tx, fence, "/other", "other", VERSIONS).await.unwrap();
    let mut known = store::KnownNames::default();
    store::write_batch(&mut tx, fence, other, &[file("a.rs", &["bee"])], &mut known).await.unwrap();
    store::repositories::set_state(&mut tx, fence, other, RepositoryState::Indexing).await.unwrap();
    store::repositories::set_report(
        &mut tx,
        fence,
        repo,
        RepositoryState::Ready,
        VERSIONS,
        &json!({ "n": 1 }),
    )
    .await
    .unwrap();
    let rows = store::repositories::list(&mut tx).await.unwrap();
    assert_eq!(rows[1].versions, VERSIONS);
    assert_eq!((rows[0].state, rows[1].state), (RepositoryState::Indexing, RepositoryState::Ready));
    assert_eq!((rows[1].files, rows[1].chunks, rows[1].generation), (1, 1, 1));
    assert_eq!(rows[1].report, Some(json!({ "n": 1 })));
    assert!(rows[1].indexed_ms.is_some() && rows[0].indexed_ms.is_none());

    store::repositories::delete(&mut tx, fence, repo).await.unwrap();
    assert_eq!(store::chunks::count(&mut tx).await.unwrap(), 1, "the other repository stays");
    let fault = store::repositories::delete(&mut tx, fence, repo).await.unwrap_err();
    assert_eq!(fault.code, ErrorCode::NotFound);
    tx.commit().await.unwrap();
    fresh.remove().await;
}

/// The store's functions that take a fence, as `file::function`.
fn fenced_functions() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/store/src/project");
    let fenced = Regex::new(r"pub async fn (\w+)\([^)]*\bfence: Fence\b").unwrap();
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let (file, text) =
                (path.file_stem().unwrap().to_string_lossy(), fs::read_to_string(&path).unwrap());
            found.extend(fenced.captures_iter(&text).map(|one| format!("{file}::{}", &one[1])));
        }
    }
    found
}

/// The results of all writes of a transaction, as (`file::function`, result).
async fn all_writes(tx: &mut ProjectTx, fence: Fence, repo: i64) -> Vec<(&'static str, Result<(), Fault>)> {
    use store::{
        files, flows, grams, history, index_state, names, repositories, revisions, scip, statistics, symbols,
        uses, vectors,
    };
    let known = &mut store::KnownNames::default();
    let report = json!({});
    let touched = Touched { id: 1, bytes: 1, modified_ns: 1, tried_ms: 0 };
    let ready = RepositoryState::Ready;
    let scip_file = store::ScipFile { hash: vec![0; 32], refused: 0 };
    vec![
        ("files::delete", files::delete(tx, fence, &[1]).await.map(drop)),
        ("files::remove_some", files::remove_some(tx, fence, repo, 1).await.map(drop)),
        ("files::touch", files::touch(tx, fence, &[touched]).await),
        ("flows::replace", flows::replace(tx, fence, repo, &[], known).await),
        ("grams::write_missing", grams::write_missing(tx, fence, 1).await.map(drop)),
        ("history::clear", history::clear(tx, fence, &[1]).await),
        ("history::write", history::write(tx, fence, &[]).await),
        ("history::write_authors", history::write_authors(tx, fence, &[], &[], known).await),
        ("index_state::acquire_fence", index_state::acquire_fence(tx, fence).await),
        ("index_state::publish", index_state::publish(tx, fence).await.map(drop)),
        ("index_state::reserve_ids", index_state::reserve_ids(tx, fence, 1).await.map(drop)),
        ("statistics::rebuild", statistics::rebuild(tx, fence, repo).await),
        ("statistics::rebuild_all", statistics::rebuild_all(tx, fence).await),
        ("names::remove_orphans", names::remove_orphans(tx, fence).await.map(drop)),
        ("repositories::clear_derived_due", repositories::clear_derived_due(tx, fence, repo).await),
        ("repository_removal::delete", repositories::delete(tx, fence, repo).await),
        ("repositories::ensure", repositories::ensure(tx, fence, "/x", "x", VERSIONS).await.map(drop)),
        ("repositories::mark_embedded_ready", repositories::mark_embedded_ready(tx, fence).await),
        ("repositories::set_head", repositories::set_head(tx, fence, repo, Some("main"), None).await),
        (
            "repositories::set_report",
            repositories::set_report(tx, fence, repo, ready, VERSIONS, &report).await,
        ),
        ("repositories::set_state", repositories::set_state(tx, fence, repo, ready).await),
        ("repositories::set_stopped", repositories::set_stopped(tx, fence, repo, ready).await),
        (
            "revisions::create_hidden",
            revisions::create_hidden(tx, fence, (repo, "repo"), VERSIONS).await.map(drop),
        ),
        ("revisions::forget", revisions::forget(tx, fence, repo).await),
        ("revisions::merge", revisions::merge(tx, fence, (repo, repo)).await),
        ("revisions::publish", revisions::publish(tx, fence, repo, &[], &[]).await),
        ("revisions::remove", revisions::remove(tx, fence, repo).await),
        ("revisions::set_patterns", revisions::set_patterns(tx, fence, repo, &[]).await),
        ("scip::prune", scip::prune(tx, fence, repo, true).await.map(drop)),
        ("scip::record_file", scip::record_file(tx, fence, repo, "a.scip", &scip_file).await),
        ("scip::replace", scip::replace(tx, fence, repo, "tool", &[]).await),
        ("symbols::set_resolved", symbols::set_resolved(tx, fence, repo, 1).await),
        ("uses::replace", uses::replace(tx, fence, &[]).await),
        ("vectors::insert", vectors::insert(tx, fence, &[vec![0; 32]], &[vec![0.0; 8]]).await.map(drop)),
        ("vectors::note_complete", vectors::note_complete(tx, fence).await),
        ("vectors::remove_orphans", vectors::remove_orphans(tx, fence).await.map(drop)),
        ("vectors::remove_some_orphans", vectors::remove_some_orphans(tx, fence, &[], 1).await.map(drop)),
        (
            "write::write_batch",
            store::write_batch(tx, fence, repo, &[file("a.rs", &["bee"])], known).await.map(drop),
        ),
        (
            "write::write_versions",
            store::write_versions(tx, fence, repo, &[file("a.rs", &["bee"])], known).await.map(drop),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_write_is_fenced() {
    let fresh = Fresh::new().await;
    let project = fresh.project("p").await;
    let (old, repo) = repository(&fresh.store, &project).await;
    write(&fresh.store, &project, old, repo, &[file("a.rs", &["ant"])]).await;
    let mut tx = writing(&fresh.store, &project).await;
    store::index_state::acquire_fence(&mut tx, Fence(2)).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = writing(&fresh.store, &project).await;
    let mut results = all_writes(&mut tx, old, repo).await;
    drop(tx);
    let built = store::lexical::ensure_terms_index(&fresh.store, &project, old, 64).await;
    results.push(("lexical::ensure_terms_index", built.map(drop)));
    let built = store::vectors::ensure_hnsw(&fresh.store, &project, old, 0, 64).await;
    results.push(("vectors::ensure_hnsw", built.map(drop)));
    for (name, result) in &results {
        assert_eq!(result.as_ref().unwrap_err().code, ErrorCode::IllegalState, "{name}");
    }
    let checked: BTreeSet<String> = results.into_iter().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(checked, fenced_functions());
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_is_embedded_once_under_its_first_path() {
    let fresh = Fresh::new().await;
    let project = fresh.project("p").await;
    let (fence, repo) = repository(&fresh.store, &project).await;
    write(&fresh.store, &project, fence, repo, &[file("z.rs", &["same", "zed"]), file("b.rs", &["same"])])
        .await;
    let mut tx = writing(&fresh.store, &project).await;
    assert_eq!(store::vectors::pending_count(&mut tx).await.unwrap(), 2);
    let first = store::vectors::pending(&mut tx, None, 1).await.unwrap();
    let second = store::vectors::pending(&mut tx, Some(&first[0].hash), 10).await.unwrap();
    assert_eq!((first.len(), second.len()), (1, 1));
    let same = first.iter().chain(&second).find(|text| text.content == "same").unwrap();
    assert_eq!((same.path.as_str(), same.name.as_deref()), ("b.rs", Some("Outer.same")));

    let vector = Dice(3).unit_vector(8);
    let inserted = store::vectors::insert(
        &mut tx,
        fence,
        std::slice::from_ref(&same.hash),
        std::slice::from_ref(&vector),
    )
    .await
    .unwrap();
    let again = store::vectors::insert(
        &mut tx,
        fence,
        std::slice::from_ref(&same.hash),
        std::slice::from_ref(&vector),
    )
    .await
    .unwrap();
    assert_eq!((inserted, again), (1, 0));
    assert_eq!(store::vectors::pending_count(&mut tx).await.unwrap(), 1);
    tx.commit().await.unwrap();

    write(&fresh.store, &project, fence, repo, &[file("b.rs", &[]), file("z.rs", &["moved", "same"])]).await;
    let mut tx = writing(&fresh.store, &project).await;
    assert_eq!(store::vectors::remove_orphans(&mut tx, fence).await.unwrap(), 0, "the text is still there");
    let pending = store::vectors::pending(&mut tx, None, 10).await.unwrap();
    assert_eq!(pending.iter().map(|text| text.content.as_str()).collect::<Vec<_>>(), ["moved"]);
    tx.commit().await.unwrap();
    write(&fresh.store, &project, fence, repo, &[file("z.rs", &["moved"])]).await;
    let mut tx = writing(&fresh.store, &project).await;
    assert_eq!(store::vectors::remove_orphans(&mut tx, fence).await.unwrap(), 1);
    assert_eq!(store::vectors::count(&mut tx).await.unwrap(), 0);
    tx.commit().await.unwrap();
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn once_all_texts_are_embedded_only_newer_ones_are_scanned() {
    let fresh = Fresh::new().await;
    let project = fresh.project("p").await;
    let (fence, repo) = repository(&fresh.store, &project).await;
    write(&fresh.store, &project, fence, repo, &[file("a.rs", &["one", "two"])]).await;
    let embed_all = async || {
        let mut tx = writing(&fresh.store, &project).await;
        let pending = store::vectors::pending(&mut tx, None, 10).await.unwrap();
        let hashes: Vec<Vec<u8>> = pending.into_iter().map(|text| text.hash).collect();
        let vectors = vec![Dice(3).unit_vector(8); hashes.len()];
        store::vectors::insert(&mut tx, fence, &hashes, &vectors).await.unwrap();
        store::vectors::note_complete(&mut tx, fence).await.unwrap();
        tx.commit().await.unwrap();
        hashes.len()
    };
    assert_eq!(embed_all().await, 2);
    let mut raw = fresh.raw().await;
    run(&mut raw, "DELETE FROM project_p.vectors").await;
    write(&fresh.store, &project, fence, repo, &[file("b.rs", &["three"])]).await;
    let mut tx = writing(&fresh.store, &project).await;
    assert_eq!(
        store::vectors::pending_count(&mut tx).await.unwrap(),
        1,
        "only texts newer than the last embedded one are scanned"
    );
    let pending = store::vectors::pending(&mut tx, None, 10).await.unwrap();
    assert_eq!(pending.iter().map(|text| text.content.as_str()).collect::<Vec<_>>(), ["three"]);
    assert!(!store::vectors::are_more_than(&mut tx, 0).await.unwrap());
    tx.commit().await.unwrap();
    assert_eq!(embed_all().await, 1);
    let mut tx = writing(&fresh.store, &project).await;
    assert!(store::vectors::are_more_than(&mut tx, 0).await.unwrap());
    assert!(
        !store::vectors::are_more_than(&mut tx, 1).await.unwrap(),
        "a page has room for more vectors than the one in it, so they are counted"
    );
    tx.commit().await.unwrap();
    fresh.remove().await;
}
