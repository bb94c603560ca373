//! Every statement of the store's code is run and prepared against a migrated schema, so that a column or a table that is
//! misspelled in a rare branch is found here.
//!
//! `store` records what runs; the sources say which calls of `sql` there are. A call that nothing here reaches fails the test.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use contract::Fault;
use serde_json::json;
use store::files::Touched;
use store::history::LineHistoryRow;
use store::postgres::recorder::{self, Statement};
use store::postgres::{Pool, TRIAGE, VectorProbe, sql};
use store::triage::{BoardPage, FindingFilter, RecordWrite, Related};
use store::{
    self, Access, AttributedFile, AuditEntry, AuthorsWrite, CandidateWords, ChunkSelection, Claim,
    CommentWrite, Completion, Counted, DecidedBy, DefinitionWrite, FileWrite, Filter, FlowWrite, GramQuery,
    HistoryWrite, KeyRow, KnownNames, LexicalQuery, LexicalSource, ModelFacts, NewJob, NextJob, Outcome,
    PassLimits, Project, ProjectPart, ProjectTx, RepositoryQuery, RepositoryState, SearchedPlaces, Store,
    Test, WRITER_LANE, WordsWrite, grams_of,
};
use tokio::sync::mpsc;

use crate::storage::database::{Fresh, VERSIONS, file, model, repository, run, term, write, writing};
use crate::storage::{instructions, launch, navigation, revisions, scip};

/// The SQLSTATE for a parameter whose type Postgres cannot infer from the statement.
const UNDETERMINED_PARAMETER: &str = "42P18";

#[test]
fn every_statement_is_prepared() {
    // Functions with hundreds of awaits need much of the stack in a build without optimisation, more than a test thread may have.
    let run = || tokio::runtime::Runtime::new().unwrap().block_on(prepare_every_statement());
    std::thread::Builder::new().stack_size(8 << 20).spawn(run).unwrap().join().unwrap();
}

async fn prepare_every_statement() {
    let (fresh, statements) = recorder::record(run_everything()).await;
    let called: BTreeSet<(&str, u32)> = statements.iter().map(|one| (one.file, one.line)).collect();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/store/src");
    let missed: Vec<String> = calls(&sources)
        .into_iter()
        .filter(|(file, line)| !called.contains(&(file.as_str(), *line)))
        .map(|(file, line)| format!("{file}:{line}"))
        .collect();
    assert!(missed.is_empty(), "statements that nothing here runs:\n{}", missed.join("\n"));

    let mut complaints = Vec::new();
    let mut tx = fresh.store.database().begin(Pool::Ddl).await.unwrap();
    let texts: BTreeMap<&str, &Statement> =
        statements.iter().map(|statement| (statement.text.as_str(), statement)).collect();
    for (text, statement) in texts {
        // The temporary table of the probe is gone with its transaction.
        if text.contains("pg_temp.") {
            continue;
        }
        let columns = match tx.prepare(text).await {
            Ok(columns) => columns,
            Err(fault) => {
                // A variant that does not use one of its parameters leaves the type open; it ran with the type of the value.
                let is_open = format!("{fault:?}").contains(UNDETERMINED_PARAMETER);
                tx = fresh.store.database().begin(Pool::Ddl).await.unwrap();
                if is_open {
                    continue;
                }
                complaints.push(format!("{}:{}: {text}: {fault:?}", statement.file, statement.line));
                continue;
            }
        };
        let distinct: BTreeSet<&String> = columns.iter().collect();
        if distinct.len() < columns.len() {
            complaints.push(format!("two columns of one name in {columns:?}: {text}"));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    tx.rollback().await.unwrap();
    fresh.remove().await;
}

/// A statement that only a login without superuser rights runs; the tests of `storage::workspaces` have such logins.
const ONLY_WITHOUT_SUPERUSER: &str = "control.tx.execute(sql(grant)).await?;";

/// The places where the sources call `sql`.
fn calls(folder: &Path) -> Vec<(String, u32)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut calls = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            calls.extend(self::calls(&path));
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(root).unwrap().to_str().unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (line, number) in code.lines().zip(1..) {
            let line = line.trim_start();
            let is_call = |(at, _): (usize, &str)| {
                !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '`')
            };
            if line == ONLY_WITHOUT_SUPERUSER {
                continue;
            }
            if !line.starts_with("//") && line.match_indices("sql(").any(is_call) {
                calls.push((name.to_owned(), number));
            }
        }
    }
    calls
}

async fn run_everything() -> Fresh {
    let fresh = Fresh::new().await;
    let store = &fresh.store;
    let project = fresh.project("p").await;
    control(store).await.unwrap();
    sources(store, &project).await.unwrap();
    fill(store, &project).await.unwrap();
    indexes(store, &project).await.unwrap();
    reads(store, &project).await.unwrap();
    filters(store, &project).await.unwrap();
    trigrams(&fresh, &project).await.unwrap();
    portable_pages(store, &project).await.unwrap();
    triage(store, &project).await.unwrap();
    instructions::run_statements(store, &project).await.unwrap();
    launch::run_statements(store, &project).await.unwrap();
    jobs(store, &project).await.unwrap();
    navigation::run_statements(store, &project, store::Fence(1)).await.unwrap();
    scip::run_statements(store, &project, store::Fence(1)).await.unwrap();
    revisions::run_statements(store, &project, store::Fence(1)).await.unwrap();
    upkeep(store, &project).await.unwrap();
    connections(store).await.unwrap();
    export_and_import(store, &project).await.unwrap();
    projects(store, &project).await.unwrap();
    fresh
}

#[expect(clippy::too_many_lines, reason = "a list of statements")]
async fn control(store: &Store) -> Result<(), Fault> {
    let mut control = store.control().await?;
    let key = KeyRow {
        id: "k".to_owned(),
        name: "ann".to_owned(),
        hash: vec![1],
        projects: Some(vec!["p".to_owned()]),
        scopes: vec!["search".to_owned()],
        calls_per_minute: Some(5),
        roots: Some(vec!["/repo".to_owned()]),
        created_ms: 0,
        expires_ms: Some(i64::from(i32::MAX) * 1000),
        revoked_ms: None,
        last_used_ms: None,
        live: true,
    };
    store::api_keys::insert(&mut control, &key).await?;
    store::api_keys::note_use(&mut control, "k").await?;
    let stored = store::api_keys::find(&mut control, "k").await?.unwrap();
    assert_eq!((stored.live, stored.calls_per_minute, &stored.roots), (true, Some(5), &key.roots));
    assert!(stored.created_ms > 0 && stored.last_used_ms.is_some() && stored.revoked_ms.is_none());
    assert_eq!(stored.expires_ms, key.expires_ms);
    assert_eq!(store::api_keys::find_locked(&mut control, "k").await?, Some(stored));
    assert_eq!(store::api_keys::projects_named(&mut control).await?, 1);
    assert!(store::api_keys::revoke(&mut control, "k").await?);
    assert_eq!(store::api_keys::list(&mut control).await?.len(), 1);

    let entry = AuditEntry {
        at_ms: 1,
        principal: "ann".to_owned(),
        name: "Ann".to_owned(),
        surface: "cli",
        tool: "search".to_owned(),
        project_id: None,
        outcome: "ok",
        duration_ms: 1.5,
        request_id: None,
        query: None,
    };
    store::audit::append(&mut control, &[entry]).await?;
    let last = store::audit::recent_calls(&mut control, "ann", 5).await?;
    assert_eq!(last, [("search".to_owned(), None, "ok".to_owned())]);
    let filter = store::audit::AuditFilter { outcome: Some("failed"), ..Default::default() };
    assert_eq!(store::audit::list(&mut control, filter, 5).await?, []);
    let filter =
        store::audit::AuditFilter { principal: Some("ann"), outcome: Some("ok"), ..Default::default() };
    assert_eq!(store::audit::list(&mut control, filter, 5).await?[0].tool, "search");
    store::audit::prune(&mut control, 1).await?;

    let note = store::writers::WriterNote {
        writer: "audit",
        process: "p",
        lost: 2,
        failing_ms: Some(5),
        problem: "why\0",
    };
    store::writers::note(&mut control, note).await?;
    store::writers::note(&mut control, store::writers::WriterNote { failing_ms: None, ..note }).await?;
    let rows = store::writers::list(&mut control).await?;
    let row = rows.iter().find(|row| row.writer == "audit").unwrap();
    assert_eq!((row.failing_since_ms, row.problem.as_str()), (None, "why\u{fffd}"));
    assert!(row.lost == 4 && row.lost_ms.is_some());

    store::mcp_sessions::save(&mut control, "s", "ann", &json!({"a": 1})).await?;
    assert_eq!(store::mcp_sessions::load(&mut control, "s", "ann", 60_000).await?, Some(json!({"a": 1})));
    assert_eq!(store::mcp_sessions::owner(&mut control, "s").await?.as_deref(), Some("ann"));
    store::mcp_sessions::delete(&mut control, "s", "ann").await?;
    store::mcp_sessions::delete_idle(&mut control, 0).await?;

    assert!(store::sizes::database(&mut control).await? > 0);
    assert!(store::sizes::catalogs(&mut control).await? > 0);
    let backend = i32::try_from(store::sizes::backend_pid(&mut control).await?).unwrap();
    let processes = store::sizes::processes(&mut control).await?;
    assert!(processes.iter().any(|(process, _)| *process == backend));
    control.commit().await
}

async fn sources(store: &Store, project: &Project) -> Result<(), Fault> {
    use store::{SourceCounts, SourceRepository, SyncEnd, source_repositories, sources};
    let mut control = store.control().await?;
    let hour = Some(3_600_000);
    assert!(sources::claim(&mut control, "s", "w", 60_000, hour).await?);
    assert!(!sources::claim(&mut control, "s", "x", 60_000, None).await?, "another process has it");
    assert!(sources::renew(&mut control, "s", "w", 60_000).await?);
    assert!(!sources::renew(&mut control, "s", "x", 60_000).await?);
    assert!(sources::list(&mut control).await?[0].syncing);
    let failed = SyncEnd { succeeded: false, due_in_ms: Some(0), note: Some("away") };
    sources::release(&mut control, "s", "x", failed).await?;
    assert!(sources::renew(&mut control, "s", "w", 60_000).await?, "only who has it ends it");
    sources::release(&mut control, "s", "w", failed).await?;
    let row = sources::list(&mut control).await?.remove(0);
    assert_eq!((row.synced_ms, row.syncing, row.note.as_deref()), (None, false, Some("away")));
    assert!(sources::claim(&mut control, "s", "x", 60_000, hour).await?, "it is due again at once");
    let done = SyncEnd { succeeded: true, due_in_ms: None, note: None };
    sources::release(&mut control, "s", "x", done).await?;
    assert!(!sources::claim(&mut control, "s", "w", 60_000, hour).await?, "an hour later");
    assert!(!sources::claim(&mut control, "s", "w", 60_000, Some(u64::MAX)).await?);
    assert!(sources::claim(&mut control, "s", "w", 0, Some(0)).await?);
    assert!(
        sources::claim(&mut control, "s", "x", 60_000, Some(0)).await?,
        "the claim of a dead process is over"
    );
    assert!(sources::list(&mut control).await?[0].synced_ms.is_some());

    let repository = |name: &str| SourceRepository {
        address: format!("https://host/{name}"),
        project_id: project.id().clone(),
    };
    let (a, b) = (repository("a"), repository("b"));
    source_repositories::save(&mut control, "s", &[(a.clone(), true), (b.clone(), false)]).await?;
    source_repositories::save(&mut control, "s", &[(a.clone(), false)]).await?;
    source_repositories::save(&mut control, "t", &[(a.clone(), false)]).await?;
    source_repositories::note_indexed(&mut control, "s", &a, Some(1_770_000_000_123)).await?;
    source_repositories::note_indexed(&mut control, "s", &b, None).await?;
    assert_eq!(source_repositories::mark_gone(&mut control, "s", std::slice::from_ref(&a)).await?, 1);
    assert_eq!(source_repositories::mark_gone(&mut control, "s", std::slice::from_ref(&a)).await?, 0);
    assert_eq!(source_repositories::gone_for(&mut control, "s", u64::MAX).await?, []);
    let gone = source_repositories::gone_for(&mut control, "s", 0).await?;
    assert_eq!((gone.len(), &gone[0].repository, gone[0].added), (1, &b, false));
    assert!(source_repositories::is_gone_for(&mut control, "s", &b, 0).await?);
    assert!(!source_repositories::is_gone_for(&mut control, "s", &a, 0).await?);
    let rows = source_repositories::list(&mut control, "s").await?;
    assert_eq!((rows[0].added, rows[0].indexed, rows[0].gone_ms), (true, true, None));
    assert_eq!((rows[0].pushed_ms, rows[1].pushed_ms), (Some(1_770_000_000_123), None));
    let counts = source_repositories::counts(&mut control).await?;
    let of = |source: &str, [indexed, waiting, gone]: [i64; 3]| SourceCounts {
        source: source.to_owned(),
        indexed,
        waiting,
        gone,
    };
    assert_eq!(counts, [of("s", [1, 0, 1]), of("t", [0, 1, 0])]);
    assert!(source_repositories::hand_over(&mut control, "s", &a).await?);
    assert!(!source_repositories::hand_over(&mut control, "s", &b).await?);
    assert!(source_repositories::list(&mut control, "t").await?[0].added);
    source_repositories::remove(&mut control, "s", &b).await?;
    assert_eq!(source_repositories::list(&mut control, "s").await?.len(), 1);
    control.commit().await
}

/// A file with something in each table, and one whose facts are missing.
fn files() -> [FileWrite; 2] {
    let mut full = file("src/a.rs", &["ant bee", "cat"]);
    full.mode = "code";
    full.meta = Some(vec!["owner=core".to_owned()]);
    full.imports = vec![(1, "std".to_owned())];
    full.risk_ends = Some("{}".to_owned());
    let chunk = &mut full.chunks[0];
    chunk.name_line = Some(1);
    chunk.signature = Some("fn ant()".to_owned());
    chunk.facts = vec![(14, "Crawl".to_owned())];
    chunk.counts = Some([1, 2, 3, 4]);
    chunk.detail = Some("{}".to_owned());
    chunk.comment = Some(CommentWrite {
        start_line: 1,
        end_line: 1,
        content: "dog".to_owned(),
        words: WordsWrite { terms: vec![term("dog")], weights: vec![1.0] },
    });
    chunk.definitions = vec![DefinitionWrite {
        name: "ant".to_owned(),
        qualified: "Outer.ant".to_owned(),
        kind: "function",
        name_id: Some(77),
        signature: Some("fn ant()".to_owned()),
        line: 1,
        column: 4,
        start_line: 1,
        end_line: 2,
        exported: Some(true),
        facts: Some(vec![(14, "Crawl".to_owned())]),
    }];
    let missing = FileWrite { facts_missing: Some("timeout"), mode: "code", ..file("src/b.rs", &["eel"]) };
    [full, missing]
}

async fn fill(store: &Store, project: &Project) -> Result<(), Fault> {
    let (fence, repo) = repository(store, project).await;
    write(store, project, fence, repo, &files()).await;
    let mut tx = writing(store, project).await;
    let all = store::files::manifest(&mut tx, repo).await?;
    assert_eq!((all[0].path.as_str(), all[1].facts_missing.as_deref()), ("src/a.rs", Some("timeout")));
    let touched = Touched { id: all[0].id, bytes: 11, modified_ns: 21, tried_ms: 0 };
    store::files::touch(&mut tx, fence, &[touched]).await?;
    let history = HistoryWrite {
        file_id: all[0].id,
        last_author: "Ann".to_owned(),
        last_modified_s: 5,
        last_commit: "c0ffee".to_owned(),
        churn_added: 2,
        churn_deleted: 1,
        churn_commits: 1,
    };
    store::history::write(&mut tx, fence, &[history]).await?;
    let spans = store::history::spans(&mut tx, &[all[0].id]).await?;
    let span = spans[&all[0].id][0];
    assert_eq!((span.first, span.last), (1, 1));
    let authors =
        AuthorsWrite { chunk_id: span.chunk_id, file_id: all[0].id, authors: vec![(20, "Ann".to_owned())] };
    let mut known = KnownNames::default();
    let attributed = [AttributedFile {
        file_id: all[0].id,
        attributed_to: "c0ffee".to_owned(),
        lines: Some(vec![1, 2, 3]),
    }];
    store::history::write_authors(&mut tx, fence, &attributed, &[authors], &mut known).await?;
    let flow = FlowWrite {
        chunk_id: span.chunk_id,
        file_id: all[0].id,
        facts: vec![(15, "sql".to_owned())],
        detail: "[]".to_owned(),
    };
    store::flows::replace(&mut tx, fence, repo, &[flow], &mut known).await?;
    store::repositories::set_head(&mut tx, fence, repo, Some("main"), Some("c0ffee")).await?;
    assert!(store::repositories::is_derived_due(&mut tx, repo).await?);
    store::repositories::clear_derived_due(&mut tx, fence, repo).await?;
    store::repositories::set_state(&mut tx, fence, repo, RepositoryState::Indexing).await?;
    store::repositories::set_stopped(&mut tx, fence, repo, RepositoryState::New).await?;
    store::repositories::mark_embedded_ready(&mut tx, fence).await?;
    let (state, report) = (RepositoryState::Ready, json!({"files": 2}));
    store::repositories::set_report(&mut tx, fence, repo, state, VERSIONS, &report).await?;
    assert_eq!(store::statistics::uncounted(&mut tx).await?, [repo]);
    store::statistics::rebuild_all(&mut tx, fence).await?;
    assert!(store::statistics::uncounted(&mut tx).await?.is_empty());
    let pending = store::vectors::pending(&mut tx, None, 10).await?;
    let hashes: Vec<_> = pending.iter().map(|text| text.hash.clone()).collect();
    assert_eq!(store::vectors::pending_hashes(&mut tx, &[], 10).await?, hashes);
    let hashes: Vec<Vec<u8>> = pending.into_iter().map(|text| text.hash).collect();
    let vectors = vec![vec![0.25; 8]; hashes.len()];
    assert_eq!(store::vectors::insert(&mut tx, fence, &hashes, &vectors).await?, 3);
    store::vectors::note_complete(&mut tx, fence).await?;
    let state = store::index_state::publish(&mut tx, fence).await?;
    assert_eq!((state.generation, state.files, state.chunks, state.vectors_complete), (1, 2, 3, true));
    tx.commit().await
}

async fn indexes(store: &Store, project: &Project) -> Result<(), Fault> {
    let fence = store::Fence(1);
    assert!(store::lexical::ensure_terms_index(store, project, fence, 64).await?);
    assert!(!store::lexical::ensure_terms_index(store, project, fence, 64).await?);
    assert!(store::vectors::ensure_hnsw(store, project, fence, 1, 64).await?);
    Ok(())
}

#[expect(clippy::too_many_lines, reason = "a list of reads")]
async fn reads(store: &Store, project: &Project) -> Result<(), Fault> {
    let mut tx = ProjectTx::begin(store, project, Access::Search).await?;
    tx.keep_alive().await?;
    super::use_places::run_statements(&mut tx).await?;
    let repository = store::repositories::get(&mut tx, "/repo").await?.unwrap();
    assert_eq!(store::repositories::list(&mut tx).await?, std::slice::from_ref(&repository));
    assert_eq!((repository.versions, repository.branch.as_deref()), (VERSIONS, Some("main")));
    assert_eq!((repository.generation, repository.files, repository.chunks), (1, 2, 3));
    let repo = repository.id;
    let terms = [term("ant"), term("bee")];
    let overview = store::overview::read(&mut tx, &terms, &[]).await?;
    assert_eq!((overview.state.chunks, overview.state.generation, overview.any_records), (3, 1, false));
    assert_eq!(overview.frequencies.len(), 2);
    let without_report = store::RepositoryRow { report: None, ..repository };
    assert_eq!(overview.repositories, [without_report]);

    let a = store::files::get(&mut tx, repo, "src/a.rs").await?.unwrap();
    assert_eq!((a.bytes, a.modified_ns, a.chunks, a.mode.as_str()), (11, 21, 2, "code"));
    let page = store::file_lists::page(&mut tx, false, (0, ""), 10).await?;
    assert_eq!(page[0].language.as_deref(), Some("rust"));
    // A part of the path; its letters in order; neither, because a `%` is matched literally.
    for (part, expected) in [("A.R", vec!["src/a.rs"]), ("sa r", vec!["src/a.rs"]), ("s%a", vec![])] {
        let (paths, total) = store::files::paths_containing(&mut tx, &[repo], part, 5).await?;
        assert_eq!(paths, expected, "{part}");
        assert_eq!(total, expected.len() as i64, "{part}");
    }
    let entries = store::files::folder(&mut tx, repo, "", 5).await?;
    assert_eq!((entries[0].name.as_str(), entries[0].files), ("src", Some(2)));
    assert_eq!(store::files::similar_paths(&mut tx, &[repo], "lib/a.rs", 1).await?, ["src/a.rs"]);
    assert_eq!(store::files::totals(&mut tx, None).await?.files, 2);
    let reasons = ["minified".to_owned(), "too_large".to_owned()];
    assert_eq!(store::file_lists::left_out(&mut tx, &[repo], &reasons, 5).await?, (Vec::new(), 0));
    assert_eq!(store::files::other_forms(&mut tx, &[repo], "gr\u{f6}\u{df}e.py").await?, [""; 0]);
    assert!(store::files::all_chunks(&mut tx).await? > 0);
    assert!(store::files::measure(&mut tx, repo).await?.rows > 5);
    assert_eq!(store::breakdown::languages(&mut tx, &Filter::EVERYTHING).await?[0].chunks, 3);
    let missing = store::breakdown::facts_missing(&mut tx, &[repo]).await?;
    assert_eq!((missing[0].count, missing[0].paths.as_slice()), (1, ["src/b.rs".to_owned()].as_slice()));
    let known = store::history::known(&mut tx, repo).await?;
    assert_eq!(known[0].attributed_to.as_deref(), Some("c0ffee"));
    let facts = store::history::of_files(&mut tx, &[a.id]).await?;
    assert_eq!((facts[0].0, facts[0].1.churn_added), (a.id, Some(2)));
    let lines = store::history::lines_of_file(&mut tx, a.id).await?;
    assert_eq!((lines.attributed_to.as_deref(), lines.lines), (Some("c0ffee"), Some(vec![1, 2, 3])));
    assert_eq!(store::history::lines_of_file(&mut tx, -1).await?, LineHistoryRow::default());
    assert_eq!(store::flows::risk_ends(&mut tx, repo).await?, [(a.id, "{}".to_owned())]);

    let spans = store::chunks::by_file(&mut tx, a.id).await?;
    let ids: Vec<i64> = spans.iter().map(|span| span.id).collect();
    let row = &store::chunks::hydrate(&mut tx, &ids).await?[0];
    assert_eq!((row.repository_name.as_str(), row.span.name_line), ("repo", Some(1)));
    assert_eq!(store::chunks::contents(&mut tx, &ids).await?[1].1, "cat");
    assert_eq!(store::chunks::contents_of_file(&mut tx, a.id).await?[0], (1, "ant bee".to_owned()));
    let shown = store::chunks::details(&mut tx, &ids[..1]).await?;
    assert_eq!((shown[0].detail.as_deref(), shown[0].flows.as_deref()), (Some("{}"), Some("[]")));
    assert_eq!(store::chunks::comments(&mut tx, &ids).await?, [(ids[0], 1, 1, "dog".to_owned())]);
    assert_eq!(store::chunks::count(&mut tx).await?, 3);
    assert_eq!(store::statistics::document_frequencies(&mut tx, &[repo], &terms).await?.len(), 2);
    assert_eq!(store::statistics::terms_within(&mut tx, &ids[..1], &terms).await?.len(), 2);
    let words = query(&terms);
    for sources in [&[][..], &[LexicalSource::Comments, LexicalSource::Chunks][..]] {
        let completion = Completion {
            ids: &ids,
            needs_lexical: &[true, true],
            needs_similarity: &[true, true],
            sources,
            words: &[CandidateWords {
                repository_id: Some(repo),
                query: words.clone(),
                other: Some(words.clone()),
            }],
            counts_users: true,
            query_vector: Some(&[0.25; 8]),
        };
        let candidates = store::chunks::candidates(&mut tx, &completion).await?;
        let first = candidates.iter().find(|candidate| candidate.id == ids[0]).unwrap();
        assert_eq!((first.lexical.is_some(), first.similarity.is_some()), (!sources.is_empty(), true));
        assert_eq!(first.other, first.lexical);
    }
    assert_eq!(store::copies::places(&mut tx, &ids).await?.len(), 2);
    let selection = ChunkSelection::Matching(Test::Facts(vec![store::fact_id(14, "Crawl")]).into());
    for selection in [&ChunkSelection::All, &ChunkSelection::Listed(ids.clone()), &selection] {
        let searched = SearchedPlaces { repositories: &[repo], selection };
        assert_eq!(store::copies::other_places(&mut tx, &ids, searched).await?, []);
    }
    assert_eq!(store::definitions::of_chunks(&mut tx, &ids).await?[0].column, 4);
    assert_eq!(store::definitions::of_lines(&mut tx, a.id, (2, 2)).await?[0].ids, None);
    let crawl = store::fact_id(14, "Crawl");
    assert_eq!(store::names::containing(&mut tx, &[14], &["craw".to_owned()], 5).await?, [crawl]);
    store::names::containing(&mut tx, &[14], &["craw".to_owned(), "x".to_owned()], 5).await?;
    assert_eq!(store::names::of_lengths(&mut tx, &[14], &[5], 5).await?, ["Crawl"]);
    assert_eq!(store::names::used_in_repositories(&mut tx, &[crawl], &[repo]).await?, [crawl]);
    assert_eq!(store::names::with_prefix(&mut tx, 14, "CRAWL", &["("]).await?, [crawl]);
    let suggested = store::suggestions::facts(&mut tx, &[14], "CRA", &[repo], 5).await?;
    assert_eq!((suggested[0].value.as_str(), suggested[0].chunks), ("Crawl", 1));
    assert_eq!(store::suggestions::facts(&mut tx, &[14], "cra", &[], 5).await?, []);
    for prefix in ["cra", "outer::an"] {
        store::suggestions::definitions(&mut tx, prefix, &[repo], 5).await?;
    }
    let suggested = store::suggestions::authors(&mut tx, "NN", &[repo], 5).await?;
    assert_eq!((suggested[0].value.as_str(), suggested[0].chunks), ("Ann", 2));
    let fields = [(14, "call"), (15, "throw")];
    let counted = store::facets::count(&mut tx, &[(ids[0], 2), (ids[1], 1)], &fields).await?;
    let counted: Vec<(&str, &str, i64)> =
        counted.iter().map(|one| (one.property.as_str(), one.value.as_str(), one.hits)).collect();
    assert_eq!(
        counted,
        [
            ("author", "Ann", 3),
            ("call", "Crawl", 2),
            ("folder", "src", 3),
            ("language", "rust", 3),
            ("repository", "repo", 3),
            ("throw", "sql", 2),
        ]
    );
    assert_eq!(store::names::with_suffix(&mut tx, 14, "wl", &["("]).await?, [crawl]);
    assert_eq!(store::names::chunks_with(&mut tx, &[crawl], true).await?, ids[..1]);
    assert!(store::names::of_chunks(&mut tx, &ids).await?.contains(&(ids[0], 14, "Crawl".to_owned())));
    assert_eq!(store::names::chunks_with_facts(&mut tx, &[(crawl, repo)], 5).await?[0].path, "src/a.rs");
    assert_eq!(store::vectors::of_repository(&mut tx, repo).await?, (3, 0));
    assert_eq!(store::vectors::pending_count(&mut tx).await?, 0);
    assert_eq!(store::vectors::pending_within(&mut tx, &[repo]).await?, 0);
    assert_eq!(store::vectors::texts_count(&mut tx).await?, 3);
    assert!(!store::vectors::are_more_than(&mut tx, 1_000_000).await?);
    assert_eq!(store::vectors::of_chunk(&mut tx, ids[0]).await?.1.unwrap().len(), 8);
    assert!(store::sizes::total(&mut tx).await? > 0);
    tx.commit().await
}

fn query(terms: &[i32]) -> LexicalQuery {
    let mut terms = terms.to_vec();
    terms.sort_unstable();
    LexicalQuery { weights: vec![1.0; terms.len()], keep: terms.clone(), terms, ..LexicalQuery::default() }
}

/// Each clause of a filter, alone and about one definition, in each retriever.
async fn filters(store: &Store, project: &Project) -> Result<(), Fault> {
    let mut tx = ProjectTx::begin(store, project, Access::Search).await?;
    let text = || vec!["src".to_owned()];
    let crawl = store::fact_id(14, "Crawl");
    let clauses = [
        Test::Repositories(vec![1]),
        Test::Views(1),
        Test::Modes(text()),
        Test::Languages(text()),
        Test::Extensions(text()),
        Test::Paths(vec!["^src".to_owned()]),
        Test::Paths(vec!["(?i)src".to_owned()]),
        Test::FileNames(text()),
        Test::Imports(vec![1]),
        Test::LastAuthors(text()),
        Test::ModifiedFrom(1),
        Test::ChurnFrom(1),
        Test::Meta { key: "owner".to_owned(), value: None },
        Test::Facts(vec![crawl]),
        Test::Chunks { chunks: vec![1, 2, 3, 4, 5, 6], facts: vec![crawl] },
        Test::Authors { ids: vec![1], names: text() },
        Test::AtLeast(Counted::Branches, 1),
        Test::AtLeast(Counted::Loops, 1),
        Test::AtLeast(Counted::Breaks, 1),
        Test::AtLeast(Counted::Continues, 1),
        Test::Signature("fn".to_owned()),
        Test::HasTerms(vec![term("ant")]),
        Test::Text("ant".to_owned()),
        Test::HasComments,
        Test::Files { ids: vec![1], chunks: 1 },
        Test::Files { ids: vec![1], chunks: 50_000 },
    ];
    let mut filters: Vec<Filter> = clauses.into_iter().map(Filter::from).collect();
    let together = Filter::All(filters.clone());
    filters.push(Filter::OneDefinition(Box::new(together)));
    filters.push(Filter::Not(Box::new(Filter::Any(Vec::new()))));
    let question = [0.25; 8];
    let words = query(&[term("ant")]);
    let repo = store::definitions::named(&mut tx, &[crawl], &ChunkSelection::All, &[], 10).await?[0].0;
    for filter in filters {
        let mut selection = vec![ChunkSelection::Matching(filter.clone())];
        for rows_max in [0, 100] {
            selection.push(store::select_chunks(&mut tx, &filter, (rows_max, 0)).await?);
        }
        for selection in selection {
            store::listed(&mut tx, &selection, 10).await?;
            exact_reads(&mut tx, &selection).await?;
            store::lexical::candidates(&mut tx, LexicalSource::Chunks, &selection, &words, 10).await?;
            store::vectors::candidates_exact(&mut tx, &selection, &question, 10).await?;
            store::vectors::candidates_hnsw(&mut tx, &selection, &question, 10, 40).await?;
            store::definitions::named(&mut tx, &[crawl], &selection, &[], 10).await?;
            reads_of_each(&mut tx, &selection, [repo, 0]).await?;
        }
    }
    for selection in [ChunkSelection::All, ChunkSelection::Listed((1..10).collect())] {
        assert_eq!(store::listed(&mut tx, &selection, 1).await?.1, 3);
        assert_eq!(
            store::lexical::candidates(&mut tx, LexicalSource::Chunks, &selection, &words, 10).await?.len(),
            1
        );
        assert_eq!(store::vectors::candidates_exact(&mut tx, &selection, &question, 10).await?.len(), 3);
        assert_eq!(store::vectors::candidates_hnsw(&mut tx, &selection, &question, 3, 40).await?.len(), 3);
        assert_eq!(store::definitions::named(&mut tx, &[crawl], &selection, &[], 10).await?[0].0, repo);
        let (lexical, near) = reads_of_each(&mut tx, &selection, [repo, 0]).await?;
        assert_eq!((lexical, near), (vec![repo], vec![repo; 2]));
    }
    tx.commit().await
}

/// The reads of several repositories at once, at most two chunks of each; returns the repositories of their hits.
async fn reads_of_each(
    tx: &mut ProjectTx,
    selection: &ChunkSelection,
    repositories: [i64; 2],
) -> Result<(Vec<i64>, Vec<i64>), Fault> {
    let words = query(&[term("ant")]);
    let queries = repositories.map(|repository_id| RepositoryQuery { repository_id, query: words.clone() });
    let lexical = store::several::lexical_hits(tx, LexicalSource::Chunks, selection, &queries, 2).await?;
    let near = store::several::vector_hits(tx, selection, &repositories, &[0.25; 8], 2).await?;
    store::definitions::named(tx, &[1], selection, &repositories, 2).await?;
    Ok((lexical.iter().map(|(id, _)| *id).collect(), near.iter().map(|(id, _)| *id).collect()))
}

/// The reads of exact search, with each kind of condition on trigrams.
async fn exact_reads(tx: &mut ProjectTx, selection: &ChunkSelection) -> Result<usize, Fault> {
    let has = |text: &str| GramQuery::HasAll(grams_of(text));
    let either = GramQuery::Any(vec![has("ant b"), GramQuery::HasAny(grams_of("cat"))]);
    let mut found = 0;
    for query in [&GramQuery::EVERYTHING, &GramQuery::All(vec![has("ant"), either])] {
        found = store::grams::candidates(tx, selection, query, 10).await?.len();
        let files: Vec<i64> =
            store::grams::files_within(tx, selection).await?.iter().map(|file| file.id).collect();
        let texts = store::grams::texts_of_files(tx, &files, selection, query).await?;
        assert_eq!(texts.len(), found, "{selection:?}");
    }
    Ok(found)
}

/// Trigrams of files of an earlier version, and the other reads of exact search.
async fn trigrams(fresh: &Fresh, project: &Project) -> Result<(), Fault> {
    let unwritten = async |path: &str| {
        let files = project.schema().table("files");
        run(&mut fresh.raw().await, &format!("UPDATE {files} SET grams_written = path <> '{path}'")).await;
    };
    let mut tx = ProjectTx::begin(&fresh.store, project, Access::Search).await?;
    assert_eq!(exact_reads(&mut tx, &ChunkSelection::All).await?, 1);
    let files = store::grams::files_within(&mut tx, &ChunkSelection::All).await?;
    let ids: Vec<i64> = files.iter().map(|file| file.id).collect();
    assert_eq!(store::grams::files(&mut tx, &ids).await?, files);
    let everything =
        store::grams::candidates(&mut tx, &ChunkSelection::All, &GramQuery::EVERYTHING, 10).await?;
    let chunks: Vec<i64> = everything.into_iter().map(|(chunk, _)| chunk).collect();
    assert_eq!(store::grams::texts(&mut tx, &chunks).await?.len(), 3);
    tx.commit().await?;
    unwritten("src/b.rs").await;
    let mut tx = ProjectTx::begin(&fresh.store, project, Access::Search).await?;
    assert_eq!(exact_reads(&mut tx, &ChunkSelection::All).await?, 2, "a chunk without trigrams may match");
    tx.commit().await?;
    let mut tx = writing(&fresh.store, project).await;
    assert_eq!(store::grams::write_missing(&mut tx, store::Fence(1), 10).await?, 1);
    assert_eq!(store::grams::write_missing(&mut tx, store::Fence(1), 10).await?, 0);
    assert_eq!(exact_reads(&mut tx, &ChunkSelection::All).await?, 1);
    tx.commit().await
}

async fn portable_pages(store: &Store, project: &Project) -> Result<(), Fault> {
    let mut tx = ProjectTx::begin(store, project, Access::Snapshot).await?;
    for commented in [false, true] {
        let part = ProjectPart { repository_id: None, modes: vec!["code".to_owned()], commented };
        let stamps = store::pages::stamps(&mut tx, &part).await?;
        let files: Vec<i64> = stamps.iter().map(|stamp| stamp.file_id).collect();
        let page = store::pages::page(&mut tx, &part, &files).await?;
        assert_eq!(page.chunks[0].counts, [Some(1), Some(2), Some(3), Some(4)]);
        assert_eq!((page.comments[0].term_weights.len(), page.definitions[0].column), (1, 4));
        assert_eq!((page.files[0].history.churn_deleted, page.vectors.is_empty()), (Some(1), false));
    }
    assert!(!store::pages::names(&mut tx, i64::MIN, 10).await?.is_empty());
    let repo = store::repositories::list(&mut tx).await?[0].id;
    assert!(!store::pages::terms(&mut tx, &[repo], (0, 0), 10).await?.is_empty());
    assert_eq!(store::pages::authors(&mut tx, 0, 10).await?.len(), 1);
    assert!(store::pages::users(&mut tx, 0, 10).await?.iter().all(|(_, files)| *files == 0));
    assert_eq!(store::pages::flows(&mut tx, 0, 10).await?[0].2, "[]");
    tx.commit().await
}

async fn triage(store: &Store, project: &Project) -> Result<(), Fault> {
    store::provision_module(store, project, &TRIAGE).await?;
    let mut tx = writing(store, project).await;
    let related = Related { vuln: Some("CVE-1".to_owned()), ..Related::default() };
    let record = |id: &str, finding_id: Option<&str>| RecordWrite {
        id: id.to_owned(),
        finding_id: finding_id.map(str::to_owned),
        status: finding_id.map(|_| "accepted".to_owned()),
        expires_ms: None,
        related: related.clone(),
        identity: None,
        is_fixed: false,
        content_hash: [1; 32],
        record: "{}".to_owned(),
    };
    let (finding_id, decision_id) = ("f".repeat(40), "d".repeat(40));
    let records = [record(&finding_id, None), record(&decision_id, Some(finding_id.as_str()))];
    assert_eq!(store::triage::put(&mut tx, &records, 5).await?.len(), 2);
    assert!(store::triage::any(&mut tx).await?);
    let known = store::triage::known(&mut tx, &["c".to_owned()], &[&finding_id]).await?;
    assert!(known.len() == 1 && known[0].is_decided && known[0].record.is_some());
    let foreign = store::triage::foreign_ids(&mut tx, &[&finding_id], &["c".to_owned()]).await?;
    assert_eq!(foreign, std::slice::from_ref(&finding_id));
    let scope = ("s", &Related::default());
    assert_eq!(store::triage::mark_fixed(&mut tx, scope, (&[], &[]), 5).await?, [] as [String; 0]);
    let finding = store::triage::get(&mut tx, &finding_id, 6).await?.unwrap();
    assert_eq!((finding.is_decision, finding.current.unwrap().status.as_str()), (false, "accepted"));
    assert!(store::triage::page(&mut tx, "", 5, 6).await?[0].is_decision);
    assert_eq!(store::triage::history(&mut tx, &finding_id, &related, 5).await?[0].id, decision_id);
    let filter = FindingFilter { text: Some("cve-1".to_owned()), ..FindingFilter::default() };
    let page = BoardPage { limit: 5, ..BoardPage::default() };
    assert_eq!(store::triage::findings(&mut tx, &filter, page, 6).await?, []);
    let filter = FindingFilter::default();
    assert_eq!(store::triage::findings(&mut tx, &filter, page, 6).await?[0].id, finding_id);
    let counted = store::triage::finding_counts(&mut tx, &filter, 6).await?;
    assert_eq!((counted[0].status.as_str(), counted[0].severity.as_str()), ("accepted", "other"));
    assert_eq!(store::triage::decisions(&mut tx, &finding_id, 5).await?[0].id, decision_id);
    tx.commit().await
}

async fn jobs(store: &Store, project: &Project) -> Result<(), Fault> {
    let mut control = store.control().await?;
    let job = |subject: &str| NewJob {
        project_id: project.id().clone(),
        kind: "index",
        lane: WRITER_LANE.to_owned(),
        subject: subject.to_owned(),
        request: json!({}),
    };
    let (progress, id) = (json!({"done": 1}), project.id());
    let first = store::jobs::enqueue_or_attach(&mut control, &job("/a")).await?.job;
    assert!(store::jobs::enqueue_or_attach(&mut control, &job("/a")).await?.attached);
    control.commit().await?;
    // Jobs enqueued in one transaction have the same time, so that neither is ahead of the other.
    let mut control = store.control().await?;
    let second = store::jobs::enqueue_if_due(&mut control, &job("/b"), 1).await?.unwrap().job;
    assert_eq!(store::jobs::ahead(&mut control, &second).await?.unwrap().id, first.id);
    assert_eq!(store::jobs::live_subjects(&mut control, id).await?.len(), 2);
    store::jobs::queue_mark(&mut control, &["index"]).await?;
    control.commit().await?;

    let mut control = store.control().await?;
    let claimed = store::jobs::try_claim(&mut control, Claim::Next(NextJob::oldest("index")), "w", 60_000)
        .await?
        .unwrap();
    let fence = claimed.fence.unwrap();
    store::jobs::heartbeat(&mut control, &claimed.id, fence, 60_000, &progress).await?;
    assert!(store::jobs::release(&mut control, &claimed.id, fence, Some("waits")).await?);
    control.commit().await?;
    let mut control = store.control().await?;
    let claimed = store::jobs::try_claim(&mut control, Claim::Id(&first.id), "w", 60_000).await?.unwrap();
    let (fence, outcome) = (claimed.fence.unwrap(), Outcome::Succeeded(json!({})));
    assert!(!store::jobs::give_back_stalled(&mut control, "other", fence, "stuck").await?);
    assert!(store::jobs::finish(&mut control, &claimed.id, fence, &outcome, &progress).await?);
    control.commit().await?;
    let mut control = store.control().await?;
    let passed = store::jobs::try_claim(&mut control, Claim::Id(&second.id), "w", 60_000).await?.unwrap();
    let why = ("not here", &json!({}));
    let limits = PassLimits { retry_ms_min: 0, retry_ms_max: 0, give_up_ms: 60_000 };
    assert!(store::jobs::pass_on(&mut control, &passed.id, passed.fence.unwrap(), why, limits).await?);
    let done = store::jobs::get(&mut control, &first.id).await?.unwrap();
    assert_eq!((done.attempt, done.result, done.note.as_deref()), (1, Some(json!({})), Some("waits")));
    store::jobs::request_cancel(&mut control, &second.id).await?;
    assert_eq!(store::jobs::list(&mut control, id, None, 5).await?.len(), 2);
    store::jobs::requeue_expired(&mut control).await?;
    assert_eq!(store::jobs::finished(&mut control, id, None, 0).await?.rows, 2);
    assert_eq!(store::jobs::remove_finished(&mut control, id, None, 0).await?.rows, 2);
    control.commit().await
}

/// Cleans up, measures and looks for damage.
async fn upkeep(store: &Store, project: &Project) -> Result<(), Fault> {
    let fence = store::Fence(1);
    let mut tx = writing(store, project).await;
    let repo = store::repositories::ensure(&mut tx, fence, "/other", "other", VERSIONS).await?;
    tx.commit().await?;
    write(store, project, fence, repo, &[file("c.rs", &["fox"]), file("d.rs", &["gnu"])]).await;
    let mut tx = writing(store, project).await;
    let files = store::files::manifest(&mut tx, repo).await?;
    store::history::clear(&mut tx, fence, &[files[0].id]).await?;
    // Of counted chunks, the counts change with them.
    store::statistics::rebuild_all(&mut tx, fence).await?;
    assert_eq!(store::files::delete(&mut tx, fence, &[files[0].id]).await?, 1);
    assert_eq!(store::files::remove_some(&mut tx, fence, repo, 100).await?.1, 1);
    store::repositories::delete(&mut tx, fence, repo).await?;
    assert_eq!(store::statistics::unused(&mut tx).await?, []);
    store::names::orphans(&mut tx, &[]).await?;
    store::names::remove_orphans(&mut tx, fence).await?;
    store::vectors::orphans(&mut tx, &[]).await?;
    store::vectors::remove_some_orphans(&mut tx, fence, &[], 10).await?;
    store::vectors::remove_orphans(&mut tx, fence).await?;
    tx.commit().await?;
    store::sizes::vacuum(store, project, &["terms"]).await?;
    assert_eq!(store::damage::check_project(store, project).await?, []);
    assert_eq!(store::damage::check_control(store).await?, []);
    Ok(())
}

/// Runs the statements that the connections themselves send to the server.
async fn connections(store: &Store) -> Result<(), Fault> {
    let database = store.database();
    database.ping().await?;
    database.vector_extension().await?;
    database.update_vector_extension().await?;
    let probe = VectorProbe {
        table: "probe".to_owned(),
        column: "embedding".to_owned(),
        half: true,
        options: vec![("m".to_owned(), 8)],
    };
    database.probe_vector_extension(&probe).await?;
    // Runs longer than the time after which the server is asked whether it is still at work, and is dropped in the middle.
    let mut tx = database.begin(Pool::Write).await?;
    tx.lift_timeout().await?;
    let slow = tx.execute(sql("SELECT pg_sleep(60)"));
    assert!(tokio::time::timeout(Duration::from_millis(2500), slow).await.is_err());
    drop(tx);
    Ok(())
}

/// Exports the project and imports it under another id.
async fn export_and_import(store: &Store, project: &Project) -> Result<(), Fault> {
    let mut export = store::transfer::Export::begin(store, project).await?;
    let id = contract::ProjectId::parse("r").unwrap();
    let modules = export.modules.clone();
    let mut import = store::transfer::Import::begin(store, &id, &model(), modules.clone()).await?;
    for table in modules.iter().flat_map(store::transfer::Module::tables) {
        let (columns, rows) = export.describe(table).await?;
        assert_eq!(import.columns(table).await?, columns);
        let (to, mut pieces) = mpsc::channel(1000);
        export.send(table, &columns, &to).await?;
        drop(to);
        let (sender, mut receiver) = mpsc::channel(1000);
        while let Some(piece) = pieces.recv().await {
            sender.send(Ok(piece)).await.unwrap();
        }
        drop(sender);
        assert_eq!(import.receive(table, &columns, &mut receiver).await?, rows, "{table}");
    }
    export.finish().await?;
    let (_, unplaced) = import.publish(&BTreeMap::from([("repo".to_owned(), "/here".to_owned())])).await?;
    assert!(unplaced.is_empty());
    Ok(())
}

/// Changes or removes whole projects. The removed one is created again, so that statements on its tables can be
/// prepared.
async fn projects(store: &Store, project: &Project) -> Result<(), Fault> {
    let mut control = store.control().await?;
    store::projects::touch(&mut control, project.id()).await?;
    assert_eq!(store::projects::list(&mut control).await?.len(), 2);
    assert_eq!(store::projects::list_for_subjects(&mut control, &["/a".to_owned()]).await?.len(), 2);
    control.commit().await?;
    assert!(
        store::projects::find_without_transaction(store, project.id(), DecidedBy::Argument).await?.is_some()
    );
    let larger = ModelFacts { dimensions: 16, hash: vec![8; 32], ..model() };
    assert!(store::change_model(store, project, &larger).await?);
    store::damage::clear_index(store, project).await?;

    let id = contract::ProjectId::parse("q").unwrap();
    let removed = store::provision(store, &id, DecidedBy::Argument, &model()).await?;
    store::deletion::mark_deleting(store, &id, false).await?;
    assert_eq!(store::deletion::running_jobs(store, &id).await?, 0);
    store::deletion::remove(store, &id).await?;
    assert!(store::deletion::leftovers(store, &id, removed.role()).await?.is_empty());
    assert!(store::deletion::keys_listing_project(store, &id).await?.is_empty());
    store::provision(store, &id, DecidedBy::Argument, &model()).await?;
    Ok(())
}
