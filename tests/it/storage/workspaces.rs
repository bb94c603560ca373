//! Workspaces are created once, completely, and isolated from one another.

use std::time::Duration;

use contract::{ErrorCode, ProjectId};
use sqlx::{AssertSqlSafe, Connection, Executor};
use store::postgres::Database;
use store::{self, DecidedBy, ModelFacts, Store};

use crate::storage::database::{
    Fresh, file, model, number, provision, repository, run, searching, settings, write,
};

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_first_uses_create_one_workspace() {
    let fresh = Fresh::new().await;
    let mut processes = vec![fresh.store.clone()];
    for _ in 0..3 {
        processes.push(fresh.another().await);
    }
    let tasks: Vec<_> = (0..64)
        .map(|i| {
            let store = processes[i % processes.len()].clone();
            tokio::spawn(async move { provision(&store, "storm").await })
        })
        .collect();
    let mut provisioned = None;
    for task in tasks {
        let project = task.await.unwrap();
        assert_eq!(*provisioned.get_or_insert_with(|| project.clone()), project);
    }
    let mut raw = fresh.raw().await;
    let role = provisioned.unwrap().role().unwrap().to_owned();
    for (what, text) in [
        ("schema", "SELECT count(*) FROM pg_namespace WHERE starts_with(nspname, 'project_')".to_owned()),
        ("role", format!("SELECT count(*) FROM pg_roles WHERE rolname = '{role}'")),
        ("row", "SELECT count(*) FROM pairofcleats.projects".to_owned()),
        ("state", "SELECT count(*) FROM project_storm.index_state".to_owned()),
    ] {
        assert_eq!(number(&mut raw, &text).await, 1, "{what}");
    }
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_workspaces_are_created_concurrently() {
    let fresh = Fresh::new().await;
    let other = fresh.another().await;
    let tasks: Vec<_> = (0..24)
        .map(|i| {
            let store = if i % 2 == 0 { fresh.store.clone() } else { other.clone() };
            tokio::spawn(async move { provision(&store, &format!("p-{i}")).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let mut tx = fresh.store.control_read().await.unwrap();
    assert_eq!(store::projects::list(&mut tx).await.unwrap().len(), 24);
    drop(tx);
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn provisioning_completes_whatever_a_crash_left_behind() {
    let fresh = Fresh::new().await;
    let mut raw = fresh.raw().await;
    run(&mut raw, "CREATE SCHEMA project_bare").await;
    run(&mut raw, "CREATE SCHEMA project_half").await;
    run(&mut raw, "CREATE TABLE project_half.terms (term int4 PRIMARY KEY, chunks int4 NOT NULL)").await;
    let whole = fresh.project("whole").await;
    run(&mut raw, "DELETE FROM pairofcleats.projects WHERE id = 'whole'").await;
    let role_only = fresh.project("roleonly").await;
    run(&mut raw, "DROP SCHEMA project_roleonly CASCADE").await;
    run(&mut raw, "DELETE FROM pairofcleats.projects WHERE id = 'roleonly'").await;

    for id in ["bare", "half", "whole", "roleonly"] {
        let project = fresh.project(id).await;
        let (fence, repo) = repository(&fresh.store, &project).await;
        write(&fresh.store, &project, fence, repo, &[file("a.rs", &["alpha beta"])]).await;
        let mut tx = searching(&fresh.store, &project).await;
        assert_eq!(store::chunks::count(&mut tx).await.unwrap(), 1, "{id}");
        tx.commit().await.unwrap();
    }
    assert_eq!(fresh.project("whole").await, whole);
    assert_eq!(fresh.project("roleonly").await, role_only);
    drop(raw);
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abandoned_provisioning_leaves_a_complete_workspace_or_none() {
    let fresh = Fresh::new().await;
    let mut unfinished = 0;
    for i in 0..30 {
        let (store, id) = (fresh.store.clone(), ProjectId::parse(&format!("crash-{i}")).unwrap());
        let facts = model();
        let attempt = store::provision(&store, &id, DecidedBy::Argument, &facts);
        unfinished += usize::from(tokio::time::timeout(Duration::from_millis(i), attempt).await.is_err());
        // The workspace is now complete or absent; in both cases provisioning it again works.
        let project = fresh.project(id.as_str()).await;
        repository(&fresh.store, &project).await;
    }
    assert!(unfinished > 0, "nothing was abandoned: the test proves nothing");
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn opening_a_project_creates_nothing() {
    let fresh = Fresh::new().await;
    let id = ProjectId::parse("ghost").unwrap();
    assert_eq!(tenancy::open(&fresh.store, &id, DecidedBy::Argument).await.unwrap(), None);
    let schemas = "SELECT count(*) FROM pg_namespace WHERE starts_with(nspname, 'project_')";
    assert_eq!(number(&mut fresh.raw().await, schemas).await, 0);
    let created = tenancy::provision(&fresh.store, &id, DecidedBy::Argument, &model()).await.unwrap();
    let opened = tenancy::open(&fresh.store, &id, DecidedBy::Argument).await.unwrap();
    assert_eq!(opened, Some(created));
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_projects_schema_is_out_of_reach() {
    let fresh = Fresh::new().await;
    let (a, _b) = (fresh.project("a").await, fresh.project("b").await);
    let mut raw = fresh.raw().await;
    let own_chunks = "SELECT count(*) FROM project_a.chunks";
    for (text, allowed) in [
        (own_chunks, true),
        ("SELECT count(*) FROM project_b.chunks", false),
        ("SELECT count(*) FROM pairofcleats.projects", false),
        ("CREATE TABLE project_a.mine (id int)", false),
        ("DROP TABLE project_a.terms", false),
    ] {
        let mut tx = raw.begin().await.unwrap();
        run(&mut tx, &format!("SET LOCAL ROLE \"{}\"", a.role().unwrap())).await;
        let result = tx.execute(AssertSqlSafe(text)).await;
        match result {
            Ok(_) => assert!(allowed, "{text}"),
            Err(error) => {
                assert!(!allowed, "{text}: {error}");
                let code = error.as_database_error().and_then(|e| e.code().map(|c| c.into_owned()));
                assert_eq!(code.as_deref(), Some("42501"), "{text}");
            }
        }
    }
    drop(raw);
    fresh.remove().await;
}

/// Writing and reading one project leaves the counters of another's tables at zero.
#[tokio::test(flavor = "multi_thread")]
async fn work_on_one_project_accesses_no_table_of_another() {
    let fresh = Fresh::new().await;
    let (a, b) = (fresh.project("a").await, fresh.project("b").await);
    let (fence, repo) = repository(&fresh.store, &b).await;
    write(&fresh.store, &b, fence, repo, &[file("b.rs", &["only in b"])]).await;
    // Postgres adds a session's counters when it ends.
    fresh.leave(&fresh.store).await;
    run(&mut fresh.raw().await, "SELECT pg_stat_reset()").await;

    let store = fresh.another().await;
    let (fence, repo) = repository(&store, &a).await;
    write(&store, &a, fence, repo, &[file("a.rs", &["only in a"])]).await;
    let mut tx = searching(&store, &a).await;
    assert_eq!(store::files::manifest(&mut tx, repo).await.unwrap().len(), 1);
    let (listed, total) = store::listed(&mut tx, &store::ChunkSelection::All, 10).await.unwrap();
    assert_eq!((listed.len(), total), (1, 1), "the other project's chunk is not here");
    tx.commit().await.unwrap();
    fresh.leave(&store).await;

    let table_accesses = |schema: &str| {
        format!(
            "SELECT coalesce(sum(seq_scan + coalesce(idx_scan, 0) + n_tup_ins + n_tup_upd + n_tup_del), 0)::int8 \
             FROM pg_stat_user_tables WHERE schemaname = '{schema}'"
        )
    };
    let mut raw = fresh.raw().await;
    assert_eq!(number(&mut raw, &table_accesses("project_b")).await, 0);
    assert!(number(&mut raw, &table_accesses("project_a")).await > 0, "the counters work");
    drop(raw);
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_keeps_its_model() {
    let fresh = Fresh::new().await;
    fresh.project("p").await;
    let other = ModelFacts { hash: vec![8; 32], ..model() };
    let id = ProjectId::parse("p").unwrap();
    let kept = store::provision(&fresh.store, &id, DecidedBy::Argument, &other).await.unwrap();
    assert_eq!(kept.model(), &model());
    assert_eq!(kept.require_model(&other).unwrap_err().code, ErrorCode::IllegalState);
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_cannot_make_the_control_schema_learns_what_to_do() {
    let fresh = Fresh::new().await;
    let mut raw = fresh.raw().await;
    let database = fresh.options.get_database().unwrap();
    let login = format!("{database}_guest");
    run(&mut raw, "DROP SCHEMA pairofcleats CASCADE").await;
    run(&mut raw, &format!("CREATE ROLE {login} LOGIN")).await;
    run(&mut raw, &format!("ALTER ROLE postgres IN DATABASE {database} SET role = '{login}'")).await;
    let fault = Database::connect(fresh.options.clone(), &settings(), true).await.err().unwrap();
    assert_eq!(fault.code, ErrorCode::PermissionDenied);
    let details = fault.details.unwrap();
    assert_eq!(details["schema_name"], "pairofcleats");
    assert!(details["suggested_action"].as_str().unwrap().contains("CREATE privilege"), "{details}");
    run(&mut raw, &format!("ALTER ROLE postgres IN DATABASE {database} RESET role")).await;
    run(&mut raw, &format!("DROP ROLE {login}")).await;
    drop(raw);
    // With the privilege, the schema is made.
    Database::connect(fresh.options.clone(), &settings(), true).await.unwrap().close().await;
    fresh.remove().await;
}

/// A login that is not a superuser, in three steps: without CREATE, with CREATE, and with CREATEROLE as well.
#[tokio::test(flavor = "multi_thread")]
async fn privileges_decide_what_a_login_can_do() {
    let fresh = Fresh::new().await;
    let mut raw = fresh.raw().await;
    let login = format!("{}_login", fresh.options.get_database().unwrap());
    let database = fresh.options.get_database().unwrap();
    run(&mut raw, &format!("CREATE ROLE {login} LOGIN")).await;
    run(&mut raw, &format!("GRANT USAGE ON SCHEMA pairofcleats TO {login}")).await;
    run(&mut raw, &format!("GRANT ALL ON ALL TABLES IN SCHEMA pairofcleats TO {login}")).await;
    run(&mut raw, &format!("GRANT ALL ON ALL SEQUENCES IN SCHEMA pairofcleats TO {login}")).await;
    // The cluster admits only its owner, so new sessions of this database switch to the login's rights.
    run(&mut raw, &format!("ALTER ROLE postgres IN DATABASE {database} SET role = '{login}'")).await;
    let connect =
        || async { Store::new(Database::connect(fresh.options.clone(), &settings(), true).await.unwrap()) };
    let id = ProjectId::parse("client-a").unwrap();
    let store = connect().await;
    let fault = store::provision(&store, &id, DecidedBy::Argument, &model()).await.unwrap_err();
    assert_eq!(fault.code, ErrorCode::PermissionDenied);
    let details = fault.details.unwrap();
    assert_eq!(details["project_id"], "client-a");
    assert_eq!(details["schema_name"], "project_client_a");
    assert!(details["suggested_action"].as_str().unwrap().contains("CREATE SCHEMA"));
    assert_eq!(tenancy::open(&store, &id, DecidedBy::Argument).await.unwrap(), None);

    run(&mut raw, &format!("GRANT CREATE ON DATABASE {database} TO {login}")).await;
    let without_role = store::provision(&store, &id, DecidedBy::Argument, &model()).await.unwrap();
    assert_eq!(without_role.role(), None);
    repository(&store, &without_role).await;

    run(&mut raw, &format!("ALTER ROLE {login} CREATEROLE")).await;
    let store = connect().await;
    let with_role = provision(&store, "client-b").await;
    assert!(with_role.role().is_some());
    let (fence, repo) = repository(&store, &with_role).await;
    write(&store, &with_role, fence, repo, &[file("a.rs", &["alpha"])]).await;
    assert!(store::lexical::ensure_terms_index(&store, &with_role, fence, 64).await.unwrap());

    store.database().close().await;
    run(&mut raw, &format!("ALTER ROLE postgres IN DATABASE {database} RESET role")).await;
    run(&mut raw, &format!("REASSIGN OWNED BY {login} TO CURRENT_USER")).await;
    run(&mut raw, &format!("DROP OWNED BY {login}")).await;
    run(&mut raw, &format!("DROP ROLE {login}")).await;
    drop(raw);
    fresh.remove().await;
}
