//! Syncs: what an organisation has is indexed and stays so, and what it no longer has is removed after a while.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use contract::ErrorCode;
use contract::config::{SourceKind, SourceSettings};
use gate::app::App;
use gate::app::freshness::{SyncReport, SyncTime, check_revisions, sync_source};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::fake_host::{FakeHost, FakeRepository, Trouble};
use crate::git_host::{BareRepository, GitHost, HostedRepository};
use crate::harness::{app, app_with, call, home, project, result, run_json, server};

/// An organisation `acme` on a code host, whose repositories are on a git host.
struct World {
    git: GitHost,
    api: FakeHost,
    settings: SourceSettings,
    project: String,
}

impl World {
    async fn new(name: &str) -> Self {
        let (git, api) = (GitHost::start().await, FakeHost::start(SourceKind::Github).await);
        let project = project(name);
        let settings = SourceSettings {
            name: project.clone(),
            project: Some(project.clone()),
            ..super::settings(&api, &["acme"])
        };
        Self { git, api, settings, project }
    }

    /// A repository with one file that contains `word`; it is not listed yet.
    fn repository(&self, name: &str, word: &str) -> HostedRepository {
        let repository = self.git.repository(name);
        write(&repository, word);
        repository
    }

    /// Sets the repositories that the code host lists from now on.
    fn list(&self, repositories: Vec<FakeRepository>) {
        self.api.set_organisation("acme", repositories);
    }

    async fn sync(&self, app: &Arc<App>) -> SyncReport {
        sync(app, &self.settings).await
    }

    /// As [`Self::sync`]; what is gone is removed by the next sync.
    async fn sync_without_grace(&self, app: &Arc<App>) -> SyncReport {
        sync(app, &SourceSettings { gone_after_ms: 0, ..self.settings.clone() }).await
    }

    async fn finds(&self, app: &Arc<App>, word: &str) -> bool {
        finds(app, &self.project, word).await
    }
}

/// Commits a file that defines `word`.
fn write(repository: &HostedRepository, word: &str) {
    repository.commit(&[("main.py", &format!("def {word}(coins):\n    return sum(coins)\n"))], "Write");
}

/// A repository as the code host lists it.
fn listed(repository: &HostedRepository, full_name: &str) -> FakeRepository {
    FakeRepository { clone_url: Some(repository.url()), ..FakeRepository::new(full_name) }
}

async fn sync(app: &Arc<App>, settings: &SourceSettings) -> SyncReport {
    // On the heap, because a test that syncs often would need more stack than its thread has.
    let syncing = Box::pin(sync_source(app, settings, SyncTime::Now, &|_| {}));
    syncing.await.unwrap().expect("no other process syncs")
}

async fn finds(app: &Arc<App>, project: &str, word: &str) -> bool {
    let arguments = json!({ "query": format!("\"{word}\""), "project_id": project });
    let answer = Box::pin(call(app, "search", arguments)).await;
    let Some(hits) = answer["result"]["hits"].as_array() else {
        assert_eq!(answer["error"]["code"], "NO_INDEX", "{answer:#}");
        return false;
    };
    !hits.is_empty()
}

/// The number that a statement about this project returns.
async fn count(text: &'static str, project: &str) -> i64 {
    let mut connection = PgConnection::connect_with(&server().connect_options()).await.unwrap();
    sqlx::query_scalar(text).bind(project).fetch_one(&mut connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_organisation_has_is_indexed() {
    let (world, app) = (World::new("listed").await, app());
    let shop = world.repository("acme/shop", "count_drawer");
    let bank = world.repository("acme/bank", "weigh_bullion");
    let fork = world.repository("acme/fork", "forked_word");
    let old = world.repository("acme/old", "archived_word");
    let excluded = world.repository("acme/archive-2020", "excluded_word");
    world.list(vec![
        listed(&shop, "acme/shop"),
        listed(&bank, "acme/bank"),
        FakeRepository { fork: true, ..listed(&fork, "acme/fork") },
        FakeRepository { archived: true, ..listed(&old, "acme/old") },
        listed(&excluded, "acme/archive-2020"),
    ]);
    let settings = SourceSettings { exclude: vec!["*/archive-*".to_owned()], ..world.settings.clone() };
    let report = sync(&app, &settings).await;
    assert_eq!((report.listed, report.indexed, report.complete), (2, 2, true), "{report:?}");
    assert!(world.finds(&app, "count_drawer").await && world.finds(&app, "weigh_bullion").await);
    for word in ["forked_word", "archived_word", "excluded_word"] {
        assert!(!world.finds(&app, word).await, "{word}");
    }
    // Nothing was pushed, so the git host is not even asked.
    world.git.forget_requests();
    let again = sync(&app, &settings).await;
    assert_eq!((again.indexed, again.unchanged, again.note), (0, 2, None));
    assert_eq!(world.git.requests(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_causes_a_run() {
    let (world, app) = (World::new("pushed").await, app());
    let (shop, bank) =
        (world.repository("acme/shop", "old_word"), world.repository("acme/bank", "other_word"));
    let with_push = |pushed_at| FakeRepository { pushed_at: Some(pushed_at), ..listed(&shop, "acme/shop") };
    world.list(vec![with_push("2026-01-01T00:00:00"), listed(&bank, "acme/bank")]);
    world.sync(&app).await;
    write(&shop, "new_word");
    assert_eq!(world.sync(&app).await.unchanged, 2, "the host did not say so yet");
    world.list(vec![with_push("2026-01-01T00:00:01"), listed(&bank, "acme/bank")]);
    let report = world.sync(&app).await;
    assert_eq!((report.indexed, report.unchanged), (1, 1));
    assert!(world.finds(&app, "new_word").await && !world.finds(&app, "old_word").await);
    assert_eq!(world.sync(&app).await.unchanged, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_gone_is_removed_after_the_grace_time() {
    let (world, app) = (World::new("gone").await, app());
    let (shop, bank) =
        (world.repository("acme/shop", "stays_here"), world.repository("acme/bank", "goes_away"));
    let (shop, bank) = (listed(&shop, "acme/shop"), listed(&bank, "acme/bank"));
    world.list(vec![shop.clone(), bank.clone()]);
    world.sync(&app).await;
    world.list(vec![shop.clone()]);
    let marked = world.sync(&app).await;
    assert_eq!((marked.gone, marked.removed), (1, 0));
    let later = world.sync(&app).await;
    assert_eq!((later.gone, later.removed), (0, 0), "the grace time is not over");
    assert!(world.finds(&app, "goes_away").await);
    // It comes back and is missing again: the time begins anew.
    world.list(vec![shop.clone(), bank]);
    assert_eq!(world.sync_without_grace(&app).await.removed, 0);
    world.list(vec![shop]);
    let marked = world.sync_without_grace(&app).await;
    assert_eq!((marked.gone, marked.removed), (1, 0), "not by the listing that misses it first");
    assert!(world.finds(&app, "goes_away").await);
    let removed = world.sync_without_grace(&app).await;
    assert_eq!((removed.gone, removed.removed, removed.unchanged), (0, 1, 1));
    assert!(!world.finds(&app, "goes_away").await && world.finds(&app, "stays_here").await);
    let rows = "SELECT count(*) FROM pairofcleats.source_repositories WHERE source = $1";
    assert_eq!(count(rows, &world.settings.name).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn manually_indexed_repositories_are_not_removed() {
    let (world, app) = (World::new("by-hand").await, app());
    let (shop, bank) = (world.repository("acme/shop", "by_hand"), world.repository("acme/bank", "by_source"));
    result(&app, "build_index", json!({ "repoPath": shop.url(), "project_id": world.project })).await;
    world.list(vec![listed(&shop, "acme/shop"), listed(&bank, "acme/bank")]);
    world.sync(&app).await;
    // Another source has one of them too.
    let other = SourceSettings { name: project("other"), ..world.settings.clone() };
    sync(&app, &SourceSettings { include: vec!["acme/bank".to_owned()], ..other.clone() }).await;
    world.list(vec![]);
    assert_eq!(world.sync_without_grace(&app).await.gone, 2);
    assert_eq!(world.sync_without_grace(&app).await.removed, 2, "the source has them no longer");
    assert!(world.finds(&app, "by_hand").await && world.finds(&app, "by_source").await);
    // The other source is now answerable for what the first one added.
    let other = SourceSettings { gone_after_ms: 0, ..other };
    sync(&app, &other).await;
    assert_eq!(sync(&app, &other).await.removed, 1);
    assert!(world.finds(&app, "by_hand").await && !world.finds(&app, "by_source").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_incomplete_listing_removes_nothing() {
    let (world, app) = (World::new("incomplete").await, app());
    let (shop, bank) =
        (world.repository("acme/shop", "still_here"), world.repository("acme/bank", "perhaps_here"));
    let (shop, bank) = (listed(&shop, "acme/shop"), listed(&bank, "acme/bank"));
    world.list(vec![shop.clone(), bank]);
    world.sync(&app).await;
    world.list(vec![shop]);
    let owners = vec!["acme".to_owned(), "nobody".to_owned()];
    let settings = SourceSettings { owners, gone_after_ms: 0, ..world.settings.clone() };
    for _ in 0..3 {
        let report = sync(&app, &settings).await;
        assert_eq!((report.complete, report.gone, report.removed), (false, 0, 0));
        assert!(report.note.unwrap().contains("`nobody` was not found"));
    }
    assert!(world.finds(&app, "perhaps_here").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_outside_the_lists_get_no_packet() {
    let world = World::new("outside").await;
    let shop = world.repository("acme/shop", "allowed_word");
    let secret = world.repository("intern/payroll", "secret_word");
    let roots = vec![PathBuf::from(format!("{}/acme", world.git.url()))];
    let app = app_with(|config| {
        config.indexing.project_roots = [(world.project.clone(), roots)].into();
    });
    world.list(vec![
        listed(&secret, "acme/payroll"),
        listed(&shop, "acme/shop"),
        FakeRepository {
            clone_url: Some("https://git@host.example/x".into()),
            ..FakeRepository::new("acme/bad")
        },
    ]);
    for _ in 0..2 {
        let report = world.sync(&app).await;
        assert_eq!((report.listed, report.refused, report.failed), (1, 1, 0), "{report:?}");
        assert!(report.note.unwrap().contains("indexing.project_roots"));
    }
    assert!(world.finds(&app, "allowed_word").await && !world.finds(&app, "secret_word").await);
    let requests = world.git.requests();
    assert!(requests.iter().any(|request| request.path.contains("acme/shop")));
    assert!(!requests.iter().any(|request| request.path.contains("intern")), "{requests:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_cannot_be_indexed_does_not_hold_the_others() {
    let (world, app) = (World::new("broken").await, app());
    let (empty, shop) = (world.git.repository("acme/empty"), world.repository("acme/shop", "sound_word"));
    let missing = FakeRepository {
        clone_url: Some(format!("{}/acme/missing", world.git.url())),
        ..FakeRepository::new("acme/missing")
    };
    world.list(vec![listed(&empty, "acme/empty"), missing, listed(&shop, "acme/shop")]);
    let report = world.sync(&app).await;
    assert_eq!((report.indexed, report.failed), (1, 2), "{report:?}");
    assert!(report.note.as_deref().unwrap().starts_with("2 not indexed; http"), "{report:?}");
    assert!(world.finds(&app, "sound_word").await);
    write(&empty, "late_word");
    assert_eq!(world.sync(&app).await.indexed, 1, "it is tried again");
    assert!(world.finds(&app, "late_word").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_limit_postpones_the_next_sync() {
    let (world, app) = (World::new("limited").await, app());
    let shop = world.repository("acme/shop", "patient_word");
    world.list(vec![listed(&shop, "acme/shop")]);
    let when_due = async || sync_source(&app, &world.settings, SyncTime::WhenDue, &|_| {}).await;
    let limit = |seconds: &'static str| {
        world.api.make_trouble(move |_| {
            Some(Trouble::Answer(429, vec![("retry-after", seconds.to_owned())], String::new()))
        });
    };
    limit("1");
    assert_eq!(when_due().await.unwrap_err().code, ErrorCode::RateLimited);
    tokio::time::sleep(Duration::from_millis(1500)).await;
    limit("3600");
    assert_eq!(when_due().await.unwrap_err().code, ErrorCode::RateLimited, "it was due again");
    world.api.end_trouble();
    world.api.take_requests();
    assert_eq!(when_due().await.unwrap(), None);
    assert_eq!(world.api.take_requests().len(), 0, "the host is left alone");
    let note = "SELECT count(*) FROM pairofcleats.sources WHERE name = $1 AND note LIKE '%rate%' AND synced_at IS NULL";
    assert_eq!(count(note, &world.settings.name).await, 1);
    // An explicit request is served immediately.
    assert_eq!(world.sync(&app).await.indexed, 1);
    assert_eq!(when_due().await.unwrap(), None, "the next one is an hour later");
}

#[tokio::test(flavor = "multi_thread")]
async fn placeholders_give_each_repository_a_project() {
    let (world, app) = (World::new("own").await, app());
    let (shop, bank) =
        (world.repository("acme/Shop.js", "shop_word"), world.repository("acme/bank", "bank_word"));
    world.list(vec![listed(&shop, "acme/Shop.js"), listed(&bank, "acme/bank"), listed(&bank, "acme/___")]);
    let template = format!("{}-{{owner}}-{{repository}}", world.project);
    let report = sync(&app, &SourceSettings { project: Some(template), ..world.settings.clone() }).await;
    assert_eq!((report.indexed, report.unusable), (2, 1), "{report:?}");
    let [of_shop, of_bank] = ["shop-js", "bank"].map(|name| format!("{}-acme-{name}", world.project));
    assert!(finds(&app, &of_shop, "shop_word").await && finds(&app, &of_bank, "bank_word").await);
    assert!(!finds(&app, &of_shop, "bank_word").await && !finds(&app, &of_bank, "shop_word").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_index_each_repository_once() {
    let world = World::new("shared").await;
    let (shop, bank) =
        (world.repository("acme/shop", "one_word"), world.repository("acme/bank", "another_word"));
    world.list(vec![listed(&shop, "acme/shop"), listed(&bank, "acme/bank")]);
    let (apps, quiet) = ([app(), app()], |_: &str| {});
    let (one, other) = tokio::join!(
        sync_source(&apps[0], &world.settings, SyncTime::WhenDue, &quiet),
        sync_source(&apps[1], &world.settings, SyncTime::WhenDue, &quiet)
    );
    let reports: Vec<SyncReport> = [one, other].into_iter().filter_map(Result::unwrap).collect();
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert_eq!(reports[0].indexed, 2);
    let jobs = "SELECT count(*) FROM pairofcleats.jobs WHERE kind = 'index' AND project_id = $1";
    assert_eq!(count(jobs, &world.project).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_syncs_what_is_due_until_it_stops() {
    let world = World::new("served").await;
    let shop = world.repository("acme/shop", "first_word");
    world.list(vec![listed(&shop, "acme/shop")]);
    let settings = SourceSettings { every_ms: 1000, ..world.settings.clone() };
    let app = app_with(|config| config.sources = vec![settings]);
    app.start_refreshes();
    let until_found = async |word: &str| {
        for _ in 0..600 {
            if world.finds(&app, word).await {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("`{word}` was not indexed");
    };
    until_found("first_word").await;
    let bank = world.repository("acme/bank", "second_word");
    world.list(vec![listed(&shop, "acme/shop"), listed(&bank, "acme/bank")]);
    until_found("second_word").await;
    app.shutdown.cancel();
    app.wait_stopped().await;
    let claimed = "SELECT count(*) FROM pairofcleats.sources WHERE name = $1 AND claimed_by IS NOT NULL";
    assert_eq!(count(claimed, &world.settings.name).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn branches_and_tags_that_the_settings_name_are_indexed_too() {
    let (world, app) = (World::new("branches").await, app());
    let shop = world.repository("acme/shop", "main_word");
    let release = [("release.py", "def release_word(coins):\n    return sum(coins)\n")];
    shop.commit_to("release/1", &release, "Release");
    world.list(vec![listed(&shop, "acme/shop")]);
    let finds_release = async || {
        let arguments = json!({ "query": "\"release_word\" rev:release/1", "project_id": world.project });
        let answer = Box::pin(call(&app, "search", arguments)).await;
        !answer["result"]["hits"].as_array().unwrap().is_empty()
    };
    assert_eq!(world.sync(&app).await.indexed, 1);
    assert!(!finds_release().await);
    let with = |patterns: &[&str]| {
        let patterns = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        SourceSettings { revisions: Some(patterns), ..world.settings.clone() }
    };
    let report = sync(&app, &with(&["release/*"])).await;
    assert_eq!((report.indexed, report.unchanged), (1, 0), "the setting changed");
    assert!(finds_release().await && world.finds(&app, "main_word").await);
    assert!(!world.finds(&app, "release_word").await);
    assert_eq!(sync(&app, &with(&["release/*"])).await.unchanged, 1);
    // Without the setting, they stay as they are.
    assert_eq!(world.sync(&app).await.unchanged, 1);
    assert!(finds_release().await);
    assert_eq!(sync(&app, &with(&[])).await.indexed, 1);
    assert!(!finds_release().await);

    let fault = check_revisions(&[with(&["v*"]), with(&["a b"])]).unwrap_err();
    assert_eq!(fault.code, ErrorCode::InvalidInput);
    assert!(fault.message.contains(&world.settings.name) && fault.hint.is_some(), "{fault}");
    assert!(check_revisions(&[with(&["v*"]), world.settings.clone()]).is_ok());
}

#[test]
fn the_command_line_lists_and_syncs_sources() {
    let folder = tempfile::tempdir().unwrap();
    let shop = BareRepository::with_name("shop.git", &[("a.py", "def from_a_list():\n    return 1\n")]);
    let (name, file) = (project("by-command"), folder.path().join("config.toml"));
    let configure = |kind: &str| {
        let shared = std::fs::read_to_string(home().join("config.toml")).unwrap();
        let entry = format!(
            "[[sources]]\nname = {name:?}\nkind = {kind:?}\nproject = \"{name}\"\nrepositories = [\"{}\"]\n",
            shop.address()
        );
        std::fs::write(&file, shared + &entry).unwrap();
    };
    let run = |arguments: &[&str]| {
        let config = ["--config", file.to_str().unwrap()];
        run_json(home(), &[arguments, &config].concat())
    };
    configure("list");
    let (status, listed) = run(&["sources"]);
    let source = &listed["result"]["sources"][0];
    assert_eq!((status, &source["name"], &source["syncedAt"]), (0, &json!(name), &Value::Null), "{listed:#}");
    let (status, synced) = run(&["sources", "sync", &name]);
    assert_eq!((status, &synced["result"]["sources"][0]["indexed"]), (0, &json!(1)), "{synced:#}");
    let (status, listed) = run(&["sources", "list"]);
    let source = &listed["result"]["sources"][0];
    assert_eq!((status, &source["indexed"], &source["waiting"]), (0, &json!(1), &json!(0)), "{listed:#}");
    assert!(source["syncedAt"].is_string() && source["note"].is_null(), "{listed:#}");
    let (status, found) = run(&["search", "from_a_list", "--project", &name]);
    assert_eq!((status, &found["result"]["hits"][0]["file"]), (0, &json!("a.py")), "{found:#}");

    let (status, unknown) = run(&["sources", "sync", "nobody"]);
    assert_eq!((status, &unknown["error"]["code"]), (2, &json!("NOT_FOUND")), "{unknown:#}");
    configure("github");
    let (status, refused) = run(&["sources"]);
    assert_eq!((status, &refused["error"]["code"]), (2, &json!("INVALID_INPUT")), "{refused:#}");
}
