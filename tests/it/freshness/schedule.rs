//! The schedule: one run a period, however many servers look, and none for what is not there.

use sqlx::{Connection, PgConnection};

use super::{Keeper, index, wait_for, wait_until};
use crate::harness::{Repository, app, app_with, project, server};

const HOUR_MS: u64 = 3_600_000;

/// Every run of the project is `hours` older than it is.
async fn age(project: &str, hours: i32) {
    let mut raw = PgConnection::connect_with(&server().connect_options()).await.unwrap();
    let text = "UPDATE pairofcleats.jobs SET finished_at = finished_at - $2 * interval '1 hour' WHERE project_id = $1";
    sqlx::query(text).bind(project).bind(hours).execute(&mut raw).await.unwrap();
}

async fn jobs(project: &str) -> i64 {
    let mut raw = PgConnection::connect_with(&server().connect_options()).await.unwrap();
    let text = "SELECT count(*) FROM pairofcleats.jobs WHERE project_id = $1";
    sqlx::query_scalar(text).bind(project).fetch_one(&mut raw).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn several_servers_refresh_what_is_due_once() {
    let (repository, project) =
        (Repository::new(&[("a.py", "def old_word():\n    return 1\n")]), project("due"));
    let app = app();
    index(&app, &repository.root(), &project).await;
    repository.write("a.py", "def due_word():\n    return 1\n");
    // Looks are as frequent as the code allows: the period is long, and runs are made to look old.
    let root = repository.path().canonicalize().unwrap();
    let keepers = [0, 1].map(|_| {
        Keeper::start(|config| {
            config.freshness.every_ms = 4000;
            config.indexing.roots = vec![root.clone()];
        })
    });
    wait_for(&app, &project, "due_word", &["a.py"]).await;
    let (seen, mut runs) = (jobs(&project).await, 0);
    wait_until("two more periods", async || {
        runs = jobs(&project).await;
        runs >= seen + 2
    })
    .await;
    for keeper in keepers {
        assert_eq!(keeper.runs("trigger=\"watch\""), 0);
        keeper.stop().await;
    }
    let mut raw = PgConnection::connect_with(&server().connect_options()).await.unwrap();
    let text = "SELECT count(*) FROM (SELECT created_at - lag(finished_at) OVER (ORDER BY created_at) AS pause \
                FROM pairofcleats.jobs WHERE project_id = $1) j WHERE pause < interval '4 seconds'";
    let early: i64 = sqlx::query_scalar(text).bind(&project).fetch_one(&mut raw).await.unwrap();
    assert_eq!(early, 0, "no run began within a period of the one before, whoever made it");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_due_or_not_there_is_left_alone() {
    let (repository, project) =
        (Repository::new(&[("a.py", "def word():\n    return 1\n")]), project("fresh"));
    let gone = Repository::new(&[("b.py", "def other_word():\n    return 1\n")]);
    let (app, roots) = (app(), [&repository, &gone].map(|one| one.path().canonicalize().unwrap()));
    index(&app, &repository.root(), &project).await;
    index(&app, &gone.root(), &project).await;
    drop(gone);
    let keeper = Keeper::start(|config| {
        config.freshness.every_ms = HOUR_MS;
        config.indexing.roots = roots.to_vec();
    });
    assert_eq!((keeper.quiet().await, jobs(&project).await), (0, 2), "the runs are not an hour old");
    keeper.stop().await;
    age(&project, 2).await;
    let keeper = Keeper::start(|config| {
        config.freshness.every_ms = HOUR_MS;
        config.indexing.roots = roots.to_vec();
    });
    wait_until("the run", async || keeper.runs("trigger=\"schedule\",status=\"ok\"") == 1).await;
    assert_eq!((keeper.quiet().await, jobs(&project).await), (1, 3), "what is gone is not run");
    keeper.stop().await;
    let off = app_with(|config| config.indexing.roots = roots.to_vec());
    age(&project, 2).await;
    off.keep_fresh();
    off.stopped().await;
    assert_eq!(jobs(&project).await, 3, "without settings nothing is kept fresh, and the task ends");
}
