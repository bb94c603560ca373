//! The schedule: one run per period, however many servers there are, and none for missing repositories.

use sqlx::{Connection, PgConnection};

use super::{FreshApp, index, wait_for, wait_until};
use crate::harness::{Repository, app, app_with, project, server};

const HOUR_MS: u64 = 3_600_000;

/// Moves the end of every run of the project `hours` into the past.
async fn make_runs_older(project: &str, hours: i32) {
    let mut connection = PgConnection::connect_with(&server().connect_options()).await.unwrap();
    let text = "UPDATE pairofcleats.jobs SET finished_at = finished_at - $2 * interval '1 hour' WHERE project_id = $1";
    sqlx::query(text).bind(project).bind(hours).execute(&mut connection).await.unwrap();
}

async fn job_count(project: &str) -> i64 {
    let mut connection = PgConnection::connect_with(&server().connect_options()).await.unwrap();
    let text = "SELECT count(*) FROM pairofcleats.jobs WHERE project_id = $1";
    sqlx::query_scalar(text).bind(project).fetch_one(&mut connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn several_servers_refresh_a_due_repository_once_per_period() {
    let (repository, project) =
        (Repository::new(&[("a.py", "def old_word():\n    return 1\n")]), project("due"));
    let app = app();
    index(&app, &repository.root(), &project).await;
    repository.write("a.py", "def due_word():\n    return 1\n");
    let root = repository.path().canonicalize().unwrap();
    let apps = [0, 1].map(|_| {
        FreshApp::start(|config| {
            // So short that the servers check at the shortest interval, which is more than a tenth of this period.
            config.freshness.every_ms = 4000;
            config.indexing.roots = vec![root.clone()];
        })
    });
    wait_for(&app, &project, "due_word", &["a.py"]).await;
    let (count_before, mut count) = (job_count(&project).await, 0);
    wait_until("two more periods", async || {
        count = job_count(&project).await;
        count >= count_before + 2
    })
    .await;
    for fresh_app in apps {
        assert_eq!(fresh_app.runs("trigger=\"watch\""), 0);
        fresh_app.stop().await;
    }
    let mut connection = PgConnection::connect_with(&server().connect_options()).await.unwrap();
    let text = "SELECT count(*) FROM (SELECT created_at - lag(finished_at) OVER (ORDER BY created_at) AS pause \
                FROM pairofcleats.jobs WHERE project_id = $1) j WHERE pause < interval '4 seconds'";
    let early: i64 = sqlx::query_scalar(text).bind(&project).fetch_one(&mut connection).await.unwrap();
    assert_eq!(early, 0, "no run started within one period of the previous one, on any server");
}

#[tokio::test(flavor = "multi_thread")]
async fn repositories_that_are_not_due_or_missing_are_not_refreshed() {
    let (repository, project) =
        (Repository::new(&[("a.py", "def word():\n    return 1\n")]), project("fresh"));
    let missing = Repository::new(&[("b.py", "def other_word():\n    return 1\n")]);
    let (app, roots) =
        (app(), [&repository, &missing].map(|repository| repository.path().canonicalize().unwrap()));
    index(&app, &repository.root(), &project).await;
    index(&app, &missing.root(), &project).await;
    drop(missing);
    let fresh_app = FreshApp::start(|config| {
        config.freshness.every_ms = HOUR_MS;
        config.indexing.roots = roots.to_vec();
    });
    assert_eq!(
        (fresh_app.runs_when_idle().await, job_count(&project).await),
        (0, 2),
        "the last runs are less than an hour old"
    );
    fresh_app.stop().await;
    make_runs_older(&project, 2).await;
    let fresh_app = FreshApp::start(|config| {
        config.freshness.every_ms = HOUR_MS;
        config.indexing.roots = roots.to_vec();
    });
    wait_until("the run", async || fresh_app.runs("trigger=\"schedule\",status=\"ok\"") == 1).await;
    assert_eq!(
        (fresh_app.runs_when_idle().await, job_count(&project).await),
        (1, 3),
        "the missing repository gets no run"
    );
    fresh_app.stop().await;
    let without_schedule = app_with(|config| config.indexing.roots = roots.to_vec());
    make_runs_older(&project, 2).await;
    without_schedule.start_refreshes();
    without_schedule.wait_stopped().await;
    assert_eq!(job_count(&project).await, 3, "without a schedule nothing is refreshed and the task ends");
}
