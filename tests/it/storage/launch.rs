//! Every statement of launch runs, run once, and what the guard of their one transaction refuses.

use contract::Fault;
use store::launch::{
    ArtifactRow, ArtifactWrite, EventRow, IssueRow, ItemRow, RunFilter, RunRow, RunWrite, WatchRow,
    artifacts, events, issues, items, removal, runs, watches, write,
};
use store::postgres::{LAUNCH, Pool, sql};
use store::{Access, Fence, Project, ProjectTx, Store};

use super::database::Fresh;

fn run(suffix: char, key: Option<&str>) -> RunRow {
    let run_id = format!("r_2026-01-21T13-00-00Z_0000000{suffix}");
    RunRow {
        run_id,
        idempotency_key: key.map(str::to_owned),
        config: "{}".to_owned(),
        config_hash: [1; 32],
        product_slug: "shop".to_owned(),
        state: "CREATED".to_owned(),
        repository_id: 1,
        repo_sha: "a".repeat(40),
        site_profile: "docs".to_owned(),
        site_sha: "b".repeat(40),
        site_tree: None,
        fence: Fence(0),
        seq: 1,
        head_hash: [2; 32],
        fix_attempts: 0,
        report_ok: None,
        pending: None,
        fixing: None,
        publish_key: None,
        branch: None,
        commit_sha: None,
        pr_url: None,
        pr_number: None,
        failure: None,
        cancel_requested: false,
        created_ms: 10,
        finished_ms: None,
        updated_ms: 10,
    }
}

fn event(run: &RunRow, seq: i32) -> EventRow {
    EventRow {
        run_id: run.run_id.clone(),
        seq,
        event_id: format!("{seq:032}"),
        ts_ms: 10,
        kind: "TOOL_CALLED".to_owned(),
        payload: "{}".to_owned(),
        trace_id: "t".to_owned(),
        span_id: "s".to_owned(),
        parent_span_id: None,
        prev_hash: [2; 32],
        hash: [3; 32],
    }
}

fn item(state: &str) -> ItemRow {
    ItemRow {
        worker: "scout".to_owned(),
        scope_key: String::new(),
        attempt: 1,
        state: state.to_owned(),
        inputs_hash: vec![4; 32],
        outputs: "[]".to_owned(),
        error: None,
        started_ms: Some(11),
        finished_ms: None,
    }
}

fn artifact(version: i32, content: &[u8]) -> ArtifactWrite {
    let row = ArtifactRow {
        name: "reports/a.md".to_owned(),
        version,
        sha256: [5; 32],
        content_type: "text/markdown".to_owned(),
        schema_id: None,
        writer: "scout".to_owned(),
        bytes: i64::try_from(content.len()).unwrap(),
    };
    ArtifactWrite { row, content: content.to_vec() }
}

fn issue(status: &str, line: Option<i32>) -> IssueRow {
    IssueRow {
        issue_id: "0123456789ab".to_owned(),
        gate: "links".to_owned(),
        severity: "error".to_owned(),
        code: "dead_link".to_owned(),
        title: "A link leads nowhere".to_owned(),
        message: "m".to_owned(),
        path: Some("content/a.md".to_owned()),
        line,
        status: status.to_owned(),
        fixable: true,
        opened_seq: 1,
        closed_seq: None,
    }
}

/// A write of a new run without anything else.
fn new(run: &RunRow) -> RunWrite<'_> {
    RunWrite { run, before: None, events: &[], items: &[], artifacts: &[], issues: &[] }
}

pub(super) async fn run_statements(store: &Store, project: &Project) -> Result<(), Fault> {
    store::provision_module(store, project, &LAUNCH).await?;
    let mut control = store.control_read().await?;
    assert_eq!(store::modules::projects_with(&mut control, "launch").await?, [project.id().as_str()]);
    control.commit().await?;
    let mut tx = ProjectTx::begin(store, project, Access::Write).await?;
    let first = run('a', Some("key"));
    let created = RunWrite {
        events: &[event(&first, 1)],
        items: &[item("running")],
        artifacts: &[artifact(1, b"one"), artifact(2, b"second")],
        issues: &[issue("open", Some(3))],
        ..new(&first)
    };
    assert!(write(&mut tx, created).await?);
    assert_eq!(runs::with_key(&mut tx, "key").await?, Some(first.clone()));
    assert_eq!(items::list(&mut tx, &first.run_id).await?, [item("running")]);
    assert_eq!(issues::list(&mut tx, &first.run_id).await?, [issue("open", Some(3))]);
    assert_eq!(events::page(&mut tx, &first.run_id, 0, 5).await?, [event(&first, 1)]);
    assert_eq!(artifacts::latest(&mut tx, &first.run_id).await?, [artifact(2, b"second").row]);
    let named = ["reports/a.md", "reports/none.md"].map(str::to_owned);
    let contents = artifacts::contents(&mut tx, &first.run_id, &named).await?;
    assert_eq!(contents.len(), 1);
    assert_eq!((&contents[0].row, &*contents[0].content), (&artifact(2, b"second").row, &b"second"[..]));

    let later = RunRow {
        state: "CREATED".to_owned(),
        site_tree: Some("c".repeat(40)),
        fence: Fence(7),
        seq: 3,
        head_hash: [9; 32],
        fix_attempts: 1,
        report_ok: Some(false),
        pending: Some("{}".to_owned()),
        fixing: Some("{}".to_owned()),
        publish_key: Some("k".to_owned()),
        branch: Some(format!("launch/{}/shop", first.run_id)),
        commit_sha: Some("d".repeat(40)),
        pr_url: Some("/launch/runs/x".to_owned()),
        pr_number: Some(4),
        failure: Some("{}".to_owned()),
        cancel_requested: true,
        finished_ms: Some(12),
        updated_ms: 12,
        ..first.clone()
    };
    let change = RunWrite {
        before: Some(1),
        events: &[event(&first, 2), event(&first, 3)],
        items: &[item("finished")],
        issues: &[issue("resolved", None)],
        ..new(&later)
    };
    assert!(write(&mut tx, change).await?);
    assert_eq!(runs::lock(&mut tx, &first.run_id).await?, Some(later.clone()));
    assert_eq!(items::list(&mut tx, &first.run_id).await?, [item("finished")]);
    assert_eq!(issues::list(&mut tx, &first.run_id).await?, [issue("resolved", None)]);
    assert_eq!(events::page(&mut tx, &first.run_id, 2, 5).await?, [event(&first, 3)]);
    let part = async |tx: &mut ProjectTx, version, range| {
        artifacts::part(tx, &first.run_id, "reports/a.md", version, range).await
    };
    assert_eq!(part(&mut tx, None, (2, 3)).await?.map(|part| part.content), Some(b"con".to_vec()));
    assert_eq!(part(&mut tx, Some(1), (0, 99)).await?.map(|part| part.content), Some(b"one".to_vec()));
    assert_eq!(part(&mut tx, Some(3), (0, 99)).await?, None);

    run_listing_statements(&mut tx, later).await?;
    run_watching_statements(&mut tx).await?;
    run_removing_statements(&mut tx).await?;
    assert_eq!(store::repositories::with_id(&mut tx, i64::MAX).await?, None);
    tx.commit().await
}

/// The statements that list runs, beside a run that is stored already.
async fn run_listing_statements(tx: &mut ProjectTx, later: RunRow) -> Result<(), Fault> {
    let second = RunRow { created_ms: 11, ..run('b', None) };
    let third = RunRow { created_ms: 11, product_slug: "bank".to_owned(), ..run('c', None) };
    for run in [&second, &third] {
        assert!(write(tx, new(run)).await?);
    }
    let page = runs::page(tx, RunFilter::default(), None, 2).await?;
    assert_eq!(page, [second.clone(), third.clone()], "the newest first, then by id");
    let rest = runs::page(tx, RunFilter::default(), Some((11, &second.run_id)), 9).await?;
    assert_eq!(rest, [third.clone(), later.clone()]);
    let shops = RunFilter { product_slug: Some("shop"), state: Some("CREATED") };
    assert_eq!(runs::page(tx, shops, None, 9).await?, [second.clone(), later.clone()]);
    assert_eq!(runs::get(tx, &third.run_id).await?, Some(third.clone()));
    let ended = RunRow { created_ms: 11, state: "DONE".to_owned(), ..run('d', None) };
    assert!(write(tx, new(&ended)).await?);
    assert_eq!(runs::unfinished(tx).await?, 3);
    assert_eq!(runs::publishing(tx, "no-such-site", 9).await?, []);
    let oldest = runs::unfinished_page(tx, None, 2).await?;
    assert_eq!(oldest, [later, second.clone()], "the oldest first, then by id");
    assert_eq!(runs::unfinished_page(tx, Some((11, &second.run_id)), 9).await?, [third]);
    let counts = [("CREATED".to_owned(), 3), ("DONE".to_owned(), 1)];
    assert_eq!(runs::count_by_state(tx).await?, counts);
    Ok(())
}

/// The statements about watched pages, beside runs without any that are stored already.
async fn run_watching_statements(tx: &mut ProjectTx) -> Result<(), Fault> {
    let with_pages = |suffix, slug: &str, state: &str, created_ms| RunRow {
        site_profile: "watched".to_owned(),
        product_slug: slug.to_owned(),
        state: state.to_owned(),
        created_ms,
        ..run(suffix, None)
    };
    let older = with_pages('e', "shop", "DONE", 20);
    let newer = with_pages('f', "shop", "READY_FOR_PR", 21);
    let failed = with_pages('5', "shop", "FAILED", 22);
    let other = with_pages('6', "bank", "PR_OPENED", 19);
    for row in [&older, &newer, &failed, &other] {
        assert!(write(tx, new(row)).await?);
    }
    let profiles = ["watched".to_owned(), "none".to_owned()];
    let newest = runs::newest_with_pages(tx, &profiles, 9).await?;
    assert_eq!(newest, [other.clone(), newer.clone()], "one of each product");
    assert_eq!(runs::newest_with_pages(tx, &profiles, 1).await?, [other]);

    let watch = |run: &RunRow, generation, stale| WatchRow {
        run_id: run.run_id.clone(),
        checked_sha: "a".repeat(40),
        generation,
        checked_ms: 30,
        claims: 4,
        stale,
        report: "{}".to_owned(),
    };
    let ids = [older.run_id.clone(), newer.run_id.clone()];
    watches::put(tx, &watch(&older, 2, 0)).await?;
    watches::put(tx, &watch(&newer, 2, 1)).await?;
    watches::put(tx, &watch(&newer, 9, 9)).await?;
    watches::put(tx, &watch(&newer, 3, 2)).await?;
    let removed = run('7', None);
    watches::put(tx, &watch(&removed, 2, 1)).await?;
    assert_eq!(watches::get(tx, &removed.run_id).await?, None, "nothing is stored of a run that is gone");
    assert_eq!(
        watches::get(tx, &newer.run_id).await?,
        Some(watch(&newer, 3, 2)),
        "the last check counts, also of a repository that was indexed anew"
    );
    assert_eq!(watches::generations(tx, &ids).await?, [(ids[0].clone(), 2), (ids[1].clone(), 3)]);
    assert_eq!(watches::stale_counts(tx, &ids[1..]).await?, [(ids[1].clone(), 2)]);
    watches::keep_only(tx, "elsewhere", &[]).await?;
    assert!(watches::get(tx, &older.run_id).await?.is_some(), "that of another site stays");
    watches::keep_only(tx, "watched", &ids[1..]).await?;
    assert_eq!(watches::get(tx, &older.run_id).await?, None);
    assert!(watches::get(tx, &newer.run_id).await?.is_some());
    assert_eq!(store::files::with_paths(tx, i64::MAX, &ids).await?, []);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_of_an_older_program_are_migrated_when_they_are_read() {
    let fresh = Fresh::new().await;
    let project = fresh.project("older").await;
    assert!(!store::has_module(&fresh.store, &project, &LAUNCH).await.unwrap(), "a read makes no tables");
    store::provision_module(&fresh.store, &project, &LAUNCH).await.unwrap();
    let begin = |access| ProjectTx::begin(&fresh.store, &project, access);
    let first = run('a', None);
    let mut tx = begin(Access::Write).await.unwrap();
    assert!(write(&mut tx, new(&first)).await.unwrap());
    tx.commit().await.unwrap();
    for statement in [
        format!("DROP TABLE {}", project.schema().table("launch_watches")),
        "UPDATE pairofcleats.project_modules SET version = 1 WHERE module = 'launch'".to_owned(),
    ] {
        let mut tx = fresh.store.database().begin(Pool::Ddl).await.unwrap();
        tx.execute(sql(statement)).await.unwrap();
        tx.commit().await.unwrap();
    }
    assert!(store::has_module(&fresh.store, &project, &LAUNCH).await.unwrap());
    let mut tx = begin(Access::Search).await.unwrap();
    assert_eq!(watches::get(&mut tx, &first.run_id).await.unwrap(), None);
    assert_eq!(runs::get(&mut tx, &first.run_id).await.unwrap(), Some(first), "runs stay");
    tx.commit().await.unwrap();
    fresh.remove().await;
}

/// The statements that remove runs, beside the unfinished ones that are stored already.
async fn run_removing_statements(tx: &mut ProjectTx) -> Result<(), Fault> {
    let ended = |suffix, state: &str, finished_ms| RunRow {
        state: state.to_owned(),
        created_ms: finished_ms - 1,
        finished_ms: Some(finished_ms),
        product_slug: "old".to_owned(),
        ..run(suffix, None)
    };
    let rows =
        [ended('1', "FAILED", 20), ended('2', "DONE", 30), ended('3', "DONE", 40), ended('4', "FAILED", 50)];
    for row in &rows {
        let created = RunWrite {
            events: &[event(row, 1)],
            items: &[item("finished")],
            artifacts: &[artifact(1, b"twelve bytes")],
            issues: &[issue("open", None)],
            ..new(row)
        };
        assert!(write(tx, created).await?);
    }
    let ids: Vec<String> = rows.iter().map(|row| row.run_id.clone()).collect();
    let open = issues::count_open(tx, &ids[..2]).await?;
    assert_eq!(open, [(ids[0].clone(), 1), (ids[1].clone(), 1)]);
    assert_eq!(events::newest(tx, &ids[0], 5).await?, [event(&rows[0], 1)]);
    // Those that ended by then, but for the newest that is done.
    let measured = removal::measure_old(tx, 45).await?;
    assert_eq!(measured.rows, 2);
    let mut bytes = 0;
    for gone in &ids[..2] {
        assert!(runs::get(tx, gone).await?.is_some());
        bytes += removal::remove_oldest(tx, 45).await?.unwrap();
        assert_eq!(runs::get(tx, gone).await?, None, "the oldest first");
        assert_eq!(events::page(tx, gone, 0, 9).await?, []);
        assert_eq!(items::list(tx, gone).await?, []);
        assert_eq!(issues::list(tx, gone).await?, []);
        assert_eq!(artifacts::latest(tx, gone).await?, []);
    }
    assert_eq!(measured.bytes, bytes, "what was announced");
    assert_eq!(removal::remove_oldest(tx, 45).await?, None);
    assert_eq!(events::page(tx, &ids[2], 0, 9).await?.len(), 1);
    assert_eq!(removal::measure_old(tx, i64::MAX).await?.rows, 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_is_not_based_on_the_last_event_changes_nothing() {
    let fresh = Fresh::new().await;
    let project = fresh.project("guarded").await;
    store::provision_module(&fresh.store, &project, &LAUNCH).await.unwrap();
    let begin = || ProjectTx::begin(&fresh.store, &project, Access::Write);
    let first = RunRow { fence: Fence(5), ..run('a', Some("key")) };
    let mut tx = begin().await.unwrap();
    assert!(write(&mut tx, RunWrite { events: &[event(&first, 1)], ..new(&first) }).await.unwrap());
    tx.commit().await.unwrap();

    // A second run with the same id, or with the same key.
    let same_key = run('b', Some("key"));
    for other in [&first, &same_key] {
        let mut tx = begin().await.unwrap();
        assert!(!write(&mut tx, new(other)).await.unwrap());
        tx.commit().await.unwrap();
    }
    // An older job, and a job that did not see the last event.
    for (fence, before) in [(4, 1), (5, 0), (6, 2)] {
        let changed = RunRow { fence: Fence(fence), seq: 2, state: "FAILED".to_owned(), ..first.clone() };
        let stale = RunWrite {
            before: Some(before),
            events: &[event(&first, 2)],
            items: &[item("running")],
            artifacts: &[artifact(1, b"x")],
            issues: &[issue("open", None)],
            ..new(&changed)
        };
        let mut tx = begin().await.unwrap();
        assert!(!write(&mut tx, stale).await.unwrap(), "fence {fence}, event {before}");
        tx.commit().await.unwrap();
    }
    let mut tx = begin().await.unwrap();
    assert_eq!(runs::get(&mut tx, &first.run_id).await.unwrap(), Some(first.clone()));
    assert_eq!(runs::get(&mut tx, &same_key.run_id).await.unwrap(), None);
    assert_eq!(events::page(&mut tx, &first.run_id, 0, 9).await.unwrap().len(), 1);
    assert!(items::list(&mut tx, &first.run_id).await.unwrap().is_empty());
    assert!(artifacts::latest(&mut tx, &first.run_id).await.unwrap().is_empty());
    assert!(issues::list(&mut tx, &first.run_id).await.unwrap().is_empty());
    tx.commit().await.unwrap();
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_concurrent_writers_one_wins() {
    let fresh = Fresh::new().await;
    let project = fresh.project("raced").await;
    store::provision_module(&fresh.store, &project, &LAUNCH).await.unwrap();
    let first = run('a', None);
    let mut tx = ProjectTx::begin(&fresh.store, &project, Access::Write).await.unwrap();
    assert!(write(&mut tx, new(&first)).await.unwrap());
    tx.commit().await.unwrap();
    let (store, project, first) = (&fresh.store, &project, &first);
    let attempt = |state: &'static str| async move {
        let changed = RunRow { seq: 2, state: state.to_owned(), ..first.clone() };
        let mut tx = ProjectTx::begin(store, project, Access::Write).await.unwrap();
        let events = [event(first, 2)];
        let written =
            write(&mut tx, RunWrite { before: Some(1), events: &events, ..new(&changed) }).await.unwrap();
        tx.commit().await.unwrap();
        written
    };
    let (one, other) = tokio::join!(attempt("FAILED"), attempt("CANCELLED"));
    assert_ne!(one, other, "exactly one is written");
    let mut tx = ProjectTx::begin(store, project, Access::Search).await.unwrap();
    let stored = runs::get(&mut tx, &first.run_id).await.unwrap().unwrap();
    tx.commit().await.unwrap();
    assert_eq!(stored.state, if one { "FAILED" } else { "CANCELLED" });
    fresh.remove().await;
}
