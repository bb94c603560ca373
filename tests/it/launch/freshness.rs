//! Watched sites: after an index run, the pages whose evidence changed are compared with it again.

use std::path::Path;

use contract::config::Config;
use launch_runs::runs::WORKERS;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use store::postgres::embedded::EmbeddedServer;

use super::golden::{self, README};
use super::{Scene, app_with_workers, bare_site, profile};
use crate::harness::{cluster, commit_all, git, git_output, new_home, project, result};
use crate::models::wait_for;
use crate::upkeep::{query_number, schema};

/// A claim of the pages, the line that says it, and what that line becomes.
const COUNTS: &str = "ShopKit counts the coins in a drawer.";
const OLD_LINE: &str = "ShopKit counts the coins in a drawer. It keeps a list of sales.";
const NEW_LINE: &str = "ShopKit counts the notes in a drawer. It keeps a list of sales.";

/// A product whose pages are watched, with a database of its own, so that no server of another test takes the jobs.
struct Watched {
    scene: Scene,
    /// Keeps the database running for the connection.
    _server: EmbeddedServer,
    raw: PgConnection,
}

async fn scene_in(home: &Path, change: impl FnOnce(&mut Config)) -> Scene {
    let (project, site) = (project("launch"), bare_site());
    let app = app_with_workers(WORKERS, home, &project, site.path(), |config| {
        config.launch.auto_advance = false;
        config.launch.sites.iter_mut().for_each(|site| site.watch = true);
        change(config);
    });
    let repository = golden::product();
    commit_all(repository.path());
    Scene { app, project, repository, site }.indexed().await
}

impl Watched {
    async fn new(name: &str) -> Self {
        Self::with(name, |_| {}).await
    }

    async fn with(name: &str, change: impl FnOnce(&mut Config)) -> Self {
        let home = new_home(name);
        let scene = scene_in(&home, change).await;
        let server = cluster(&home);
        let raw = PgConnection::connect_with(&server.connect_options()).await.unwrap();
        Self { scene, _server: server, raw }
    }

    async fn number(&mut self, text: &str) -> i64 {
        sqlx::query(AssertSqlSafe(text)).fetch_one(&mut self.raw).await.unwrap().get(0)
    }

    /// Returns the freshness of a run's pages in its status, as soon as they were compared with the current index.
    async fn compared(&mut self, run: &str) -> Value {
        let schema = schema(&self.scene.project);
        let text = format!(
            "SELECT count(*) FROM {schema}.launch_watches w JOIN {schema}.launch_runs r ON r.run_id = w.run_id \
             JOIN {schema}.repositories p ON p.id = r.repository_id \
             WHERE w.run_id = '{run}' AND p.state = 'ready' AND w.generation = p.generation"
        );
        wait_for("the pages to be compared", async || self.number(&text).await == 1).await;
        let freshness = self.scene.status(run).await["freshness"].take();
        assert!(freshness.is_object(), "{freshness}");
        freshness
    }

    /// Commits what the repository contains, and indexes it.
    async fn commit(&self) {
        commit_all(self.scene.repository.path());
        self.scene.index().await;
    }

    /// The number of stale sentences that a list shows.
    async fn listed(&self, run: &str) -> Value {
        let listed =
            result(&self.scene.app, "launch_list_runs", json!({ "project_id": self.scene.project })).await;
        let mut runs = listed["runs"].as_array().unwrap().iter();
        runs.find(|one| one["run_id"] == run).unwrap()["stale"].clone()
    }

    /// Publishes a run that is watched from now on.
    async fn publish(&self) -> (String, String) {
        let run = self.scene.ready_with(golden::config(&self.scene)).await;
        let opened = self.scene.result("launch_open_pr", &run).await;
        assert_eq!(opened["state"], "DONE", "{opened:#}");
        (run, opened["branch"].as_str().unwrap().to_owned())
    }

    async fn stop(self) {
        self.scene.app.shutdown.cancel();
        self.scene.app.wait_stopped().await;
    }
}

/// The places of the sentence in the pages of a branch, as path and line.
fn places(scene: &Scene, branch: &str) -> Vec<(String, u64)> {
    let mut places = Vec::new();
    for path in scene.site_git(&["diff", "--name-only", "main", branch]).lines() {
        let page = scene.site_git(&["show", &format!("{branch}:{path}")]);
        let lines =
            page.lines().zip(1..).filter(|(line, _)| line.contains(COUNTS) && line.contains("claim_id"));
        places.extend(lines.map(|(_, number)| (path.to_owned(), number)));
    }
    places.sort();
    assert!(!places.is_empty(), "no page says it");
    places
}

#[tokio::test(flavor = "multi_thread")]
async fn stale_sentences_are_reported_with_old_and_new_lines() {
    let mut watched = Watched::new("launch-watch").await;
    watched.scene.app.start_background();
    let (run, branch) = watched.publish().await;
    let places = places(&watched.scene, &branch);
    let fresh = watched.compared(&run).await;
    assert!(fresh["claims"].as_u64().unwrap() >= 5, "{fresh:#}");
    assert_eq!((&fresh["stale_count"], &fresh["stale"]), (&json!(0), &json!([])), "{fresh:#}");
    assert_eq!(watched.listed(&run).await, 0);

    // One line says something else; other files change, and say what they said.
    watched
        .scene
        .repository
        .write("README.md", &format!("Welcome!\n\n{}", README.replace(OLD_LINE, NEW_LINE)));
    let cash = std::fs::read_to_string(watched.scene.repository.path().join("shopkit/cash.py")).unwrap();
    watched.scene.repository.write("shopkit/cash.py", &format!("import math\n{cash}"));
    watched.scene.repository.write("till.py", "def till():\n    return []\n");
    watched.commit().await;
    let stale = watched.compared(&run).await;
    let head = git_output(watched.scene.repository.path(), &["rev-parse", "HEAD"]);
    assert_eq!(stale["checked_sha"], head.trim(), "{stale:#}");
    assert_eq!(stale["stale_count"], places.len(), "{stale:#}");
    assert_eq!(stale["truncated"], false);
    let found: Vec<(String, u64)> = stale["stale"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            assert_eq!((&one["text"], &one["path"]), (&json!(COUNTS), &json!("README.md")), "{one:#}");
            assert_eq!(one["old"], json!({ "start_line": 3, "lines": [OLD_LINE] }), "{one:#}");
            assert_eq!(one["new"], json!({ "start_line": 5, "lines": [NEW_LINE] }), "{one:#}");
            assert_eq!(one["verdict"], "stale", "{one:#}");
            (one["page"].as_str().unwrap().to_owned(), one["line"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(found, places);
    assert_eq!(watched.listed(&run).await, places.len());

    // The same commit again, then the line as it was.
    watched.scene.index().await;
    assert_eq!(watched.compared(&run).await["stale"], stale["stale"]);
    watched.scene.repository.write("README.md", README);
    watched.commit().await;
    assert_eq!(watched.compared(&run).await["stale_count"], 0);

    // A long line is truncated.
    let long = format!("{NEW_LINE} {}", "x".repeat(5_000));
    watched.scene.repository.write("README.md", &README.replace(OLD_LINE, &long));
    watched.commit().await;
    let cut = watched.compared(&run).await;
    // The old sentence was the whole line; now the line goes on after it.
    assert!(cut["stale_count"].as_u64() > stale["stale_count"].as_u64(), "{cut:#}");
    assert_eq!(
        (&cut["stale"][0]["text"], &cut["stale"][0]["new"]["truncated"]),
        (&json!(COUNTS), &json!(true)),
        "{cut:#}"
    );
    assert!(cut["stale"][0]["new"]["lines"][0].as_str().unwrap().len() < 500, "{cut:#}");
    watched.scene.repository.write("README.md", README);
    watched.commit().await;

    // Uncommitted changes say nothing about pages.
    watched.scene.repository.write("README.md", &README.replace(OLD_LINE, NEW_LINE));
    watched.scene.index().await;
    assert_eq!(watched.compared(&run).await["stale_count"], 0);
    watched.scene.repository.remove("README.md");
    watched.commit().await;
    let gone = watched.compared(&run).await;
    assert!(gone["stale_count"].as_u64().unwrap() > stale["stale_count"].as_u64().unwrap(), "{gone:#}");
    let all = gone["stale"].as_array().unwrap();
    assert!(all.iter().all(|one| one["verdict"] == "gone" && one["new"].is_null()), "{gone:#}");
    watched.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_page_is_left_to_its_author_and_a_newer_run_takes_over() {
    let mut watched = Watched::new("launch-watch-edited").await;
    watched.scene.app.start_background();
    let (run, branch) = watched.publish().await;
    assert_eq!(watched.compared(&run).await["stale_count"], 0);
    // The branch is merged, and the sentence is written anew on all pages that have it.
    let places = places(&watched.scene, &branch);
    let site = watched.scene.site.path().to_str().unwrap().to_owned();
    git(watched.scene.site.path(), &["update-ref", "refs/heads/main", &branch]);
    let work = tempfile::tempdir().unwrap();
    git(work.path(), &["clone", "--quiet", "--branch", "main", &site, "."]);
    for (page, _) in &places {
        let file = work.path().join(page);
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace(COUNTS, "ShopKit counts whatever a drawer has.")).unwrap();
    }
    commit_all(work.path());
    git(work.path(), &["push", "--quiet", "origin", "HEAD:refs/heads/main"]);
    watched.scene.repository.write("README.md", &README.replace(OLD_LINE, NEW_LINE));
    watched.commit().await;
    let freshness = watched.compared(&run).await;
    assert!(freshness["claims"].as_u64().unwrap() >= 5, "the other sentences are compared: {freshness:#}");
    assert_eq!(freshness["stale_count"], 0, "{freshness:#}");

    // From a stale sentence to a branch: another run over the commit that is indexed.
    let newer = watched.scene.ready_with(golden::config(&watched.scene)).await;
    assert_eq!(watched.compared(&newer).await["stale_count"], 0);
    wait_for("the older run to be forgotten", async || watched.listed(&run).await.is_null()).await;
    assert_eq!(watched.scene.status(&run).await.get("freshness"), None);
    watched.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn publishing_reports_what_went_stale_since_the_pages_were_written() {
    let mut watched = Watched::new("launch-watch-ready").await;
    watched.scene.app.start_background();
    let run = watched.scene.ready_with(golden::config(&watched.scene)).await;
    watched.scene.repository.write("README.md", &README.replace(OLD_LINE, NEW_LINE));
    watched.commit().await;
    let stale = watched.compared(&run).await["stale_count"].as_u64().unwrap();
    assert!(stale > 0);
    let published = watched.scene.call("launch_open_pr", &run).await;
    let warning = &published["_meta"]["warnings"][0];
    assert_eq!(warning["code"], "stale_sentences", "{published:#}");
    assert!(warning["message"].as_str().unwrap().contains(&stale.to_string()), "{warning:#}");
    watched.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_request_is_made_again() {
    let mut watched = Watched::new("launch-watch-lost").await;
    let (run, _) = watched.publish().await;
    watched.scene.repository.write("README.md", &README.replace(OLD_LINE, NEW_LINE));
    watched.commit().await;
    let requested = "SELECT count(*) FROM pairofcleats.jobs WHERE kind = 'launch_watch' AND state = 'queued' \
         AND subject = 'watch:docs' AND lane = 'launch:watch:docs'";
    assert_eq!(watched.number(requested).await, 1, "the end of the index run requests a check");
    assert_eq!(watched.scene.status(&run).await.get("freshness"), None, "it has not been computed yet");
    // The state that a process leaves if it dies before it requests the check.
    let lose = "DELETE FROM pairofcleats.jobs WHERE kind = 'launch_watch'";
    sqlx::query(AssertSqlSafe(lose)).execute(&mut watched.raw).await.unwrap();
    watched.scene.app.start_background();
    assert!(watched.compared(&run).await["stale_count"].as_u64().unwrap() >= 1);
    watched.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unwatched_pages_cost_nothing() {
    let scene = scene_in(crate::harness::home(), |config| {
        config.launch.sites.iter_mut().for_each(|site| site.watch = false);
    })
    .await;
    let run = scene.ready_with(golden::config(&scene)).await;
    scene.repository.write("README.md", &README.replace(OLD_LINE, NEW_LINE));
    commit_all(scene.repository.path());
    scene.index().await;
    let watches = format!("SELECT count(*) FROM {}.launch_watches", schema(&scene.project));
    assert_eq!(query_number(&watches).await, 0);
    let jobs = format!(
        "SELECT count(*) FROM pairofcleats.jobs WHERE kind = 'launch_watch' AND project_id = '{}'",
        scene.project
    );
    assert_eq!(query_number(&jobs).await, 0);
    assert_eq!(scene.status(&run).await.get("freshness"), None);
    let listed = result(&scene.app, "launch_list_runs", json!({ "project_id": scene.project })).await;
    assert_eq!(listed["runs"][0].get("stale"), None, "{listed:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_project_sees_the_pages_of_another() {
    // The other project has a site of the same name and a product of the same slug.
    let (other, other_site) = (project("launch"), bare_site());
    let mut ours = Watched::with("launch-watch-two", |config| {
        let site = profile(&other, other_site.path().to_owned());
        config.launch.sites.push(contract::config::LaunchSite { watch: true, ..site });
    })
    .await;
    let repository = golden::product();
    commit_all(repository.path());
    let theirs = Scene { app: ours.scene.app.clone(), project: other, repository, site: other_site };
    let theirs = theirs.indexed().await;
    let (our_run, _) = ours.publish().await;
    let their_run = theirs.ready_with(golden::config(&theirs)).await;
    ours.scene.app.start_background();
    theirs.repository.write("README.md", &README.replace(OLD_LINE, "CANARY counts the notes in a drawer."));
    commit_all(theirs.repository.path());
    theirs.index().await;
    wait_for("their pages to be compared", async || {
        theirs.status(&their_run).await["freshness"]["stale_count"].as_u64().is_some_and(|count| count > 0)
    })
    .await;
    let freshness = ours.compared(&our_run).await;
    assert_eq!(freshness["stale_count"], 0, "{freshness:#}");
    let listed =
        result(&ours.scene.app, "launch_list_runs", json!({ "project_id": ours.scene.project })).await;
    assert!(!listed.to_string().contains(&their_run) && !freshness.to_string().contains("CANARY"));
    ours.stop().await;
}
