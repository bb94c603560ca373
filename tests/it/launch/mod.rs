//! Launch runs: started, advanced, fixed, published and recovered, over a real repository, a real bare repository of a site, and small
//! workers in place of those that write pages. The gates are the real ones.

mod access;
mod addresses;
mod artifacts;
mod authored;
mod checks;
mod command_line;
mod events;
mod external_links;
mod fixing;
mod following;
mod forges;
mod freshness;
mod golden;
mod keeping;
mod kills;
mod legality;
mod metrics;
mod pinning;
mod planning;
mod publishing;
mod random_kills;
mod recovery;
mod resources;
mod starting;
mod waiting;
mod workers;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use contract::config::{Config, LOCAL_FORGE, LaunchSite};
use embedding::StubEmbedder;
use gate::app::App;
use launch_runs::runs::WorkerTable;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::harness::{
    Repository, app_without_embedder_in, call, commit_all, git, git_output, home, project, result,
};
use crate::models::wait_for;

/// The README of the product: one claim a line.
pub(crate) const README: &str = "Counts coins in a drawer.\nKeeps a list of sales.\n";
/// A page that was there before.
const OLD_PAGE: &str = "content/docs/old.md";

/// A product that is indexed in a project of its own, and the site that its pages are for.
pub(crate) struct Scene {
    pub(crate) app: Arc<App>,
    pub(crate) project: String,
    pub(crate) repository: Repository,
    pub(crate) site: TempDir,
}

/// The files of the product.
fn product() -> Repository {
    let mit = "Permission is hereby granted, free of charge, to any person obtaining a copy. \
        THE SOFTWARE IS PROVIDED \"AS IS\".\n";
    let repository = Repository::new(&[
        ("README.md", README),
        ("LICENSE", mit),
        ("pyproject.toml", "[project]\nname = \"shopkit\"\nlicense = \"MIT\"\n"),
        ("cash.py", "def drawer(coins):\n    return sum(coins)\n"),
    ]);
    commit_all(repository.path());
    repository
}

/// The bare repository of a site with one page.
fn bare_site() -> TempDir {
    let source = Repository::new(&[(OLD_PAGE, "# Old\n\nNobody changes this page.\n")]);
    commit_all(source.path());
    let site = tempfile::tempdir().unwrap();
    git(site.path(), &["init", "--quiet", "--bare"]);
    git(source.path(), &["push", "--quiet", site.path().to_str().unwrap(), "HEAD:refs/heads/main"]);
    site
}

/// Commits a change to the main branch of a bare repository, as people do.
pub(crate) fn push(bare: &Path, change: impl FnOnce(&Path)) {
    let work = tempfile::tempdir().unwrap();
    git(work.path(), &["clone", "--quiet", "--branch", "main", bare.to_str().unwrap(), "."]);
    change(work.path());
    git(work.path(), &["add", "--all"]);
    git(work.path(), &["commit", "--quiet", "--allow-empty", "--message", "Change"]);
    git(work.path(), &["push", "--quiet", "origin", "HEAD:main"]);
}

/// The profile of a site for one project.
pub(crate) fn profile(project: &str, repository: PathBuf) -> LaunchSite {
    LaunchSite {
        name: "docs".to_owned(),
        project: Some(project.to_owned()),
        repository: repository.to_str().unwrap().to_owned(),
        base: "main".to_owned(),
        allowed_paths: vec!["content/docs".to_owned()],
        forge: LOCAL_FORGE.to_owned(),
        repo: None,
        checks: Vec::new(),
        external_hosts: Vec::new(),
        watch: false,
    }
}

/// An application over a home with the workers of these tests, which changes this site.
pub(crate) fn app_for(home: &Path, project: &str, site: &Path, change: impl FnOnce(&mut Config)) -> Arc<App> {
    app_with_workers(workers::TABLE, home, project, site, change)
}

/// As [`app_for`], with other workers.
fn app_with_workers(
    workers: WorkerTable,
    home: &Path,
    project: &str,
    site: &Path,
    change: impl FnOnce(&mut Config),
) -> Arc<App> {
    let app = app_without_embedder_in(home, |config| {
        config.launch.sites.push(profile(project, site.to_owned()));
        (config.server.port, config.server.drain_ms) = (0, 2000);
        change(config);
    });
    let app = app.with_embedder(Arc::new(StubEmbedder::default())).with_state(workers);
    Arc::new(app)
}

impl Scene {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Config)) -> Self {
        Self::in_home(home(), change).await
    }

    pub(crate) async fn in_home(home: &Path, change: impl FnOnce(&mut Config)) -> Self {
        let (project, site) = (project("launch"), bare_site());
        let app = app_for(home, &project, site.path(), change);
        Self { app, project, repository: product(), site }.indexed().await
    }

    /// A scene of another product with other workers.
    pub(crate) async fn with_workers(repository: Repository, workers: WorkerTable) -> Self {
        let (project, site) = (project("launch"), bare_site());
        let app = app_with_workers(workers, home(), &project, site.path(), |_| {});
        Self { app, project, repository, site }.indexed().await
    }

    async fn indexed(self) -> Self {
        self.index().await;
        self
    }

    /// Indexes the product.
    pub(crate) async fn index(&self) {
        let arguments = json!({ "repoPath": self.repository.root(), "project_id": self.project });
        result(&self.app, "build_index", arguments).await;
    }

    /// The configuration of a run with pages for two sections. What the slug contains decides what goes wrong; see [`workers`].
    pub(crate) fn config(&self, slug: &str) -> Value {
        json!({
            "schema_version": "1.0",
            "product_slug": slug,
            "product_name": "ShopKit",
            "github_repo_url": self.repository.root(),
            "required_sections": ["docs", "kb"],
            "site_profile": "docs",
        })
    }

    /// Starts a run and returns its id.
    pub(crate) async fn start(&self, slug: &str) -> String {
        self.start_with(self.config(slug)).await
    }

    pub(crate) async fn start_with(&self, config: Value) -> String {
        let arguments = json!({ "run_config": config, "project_id": self.project });
        let started = result(&self.app, "launch_start_run", arguments).await;
        assert_eq!((&started["state"], &started["existing"]), (&json!("CREATED"), &json!(false)));
        started["run_id"].as_str().unwrap().to_owned()
    }

    /// The arguments of a tool about a run.
    pub(crate) fn arguments(&self, run: &str) -> Value {
        json!({ "run_id": run, "project_id": self.project })
    }

    /// Calls a tool about a run and returns the envelope.
    pub(crate) async fn call(&self, tool: &str, run: &str) -> Value {
        let envelope = call(&self.app, tool, self.arguments(run)).await;
        assert_eq!(envelope["run_id"], run, "{tool}: the envelope names the run: {envelope:#}");
        envelope
    }

    /// Calls a tool about a run, which must succeed.
    pub(crate) async fn result(&self, tool: &str, run: &str) -> Value {
        let mut envelope = self.call(tool, run).await;
        assert_eq!(envelope["ok"], true, "{tool}: {envelope:#}");
        envelope["result"].take()
    }

    /// Calls a tool about a run, which must fail, and returns the error.
    pub(crate) async fn error(&self, tool: &str, run: &str) -> Value {
        let mut envelope = self.call(tool, run).await;
        assert_eq!(envelope["ok"], false, "{tool}: {envelope:#}");
        envelope["error"].take()
    }

    pub(crate) async fn status(&self, run: &str) -> Value {
        self.result("launch_get_status", run).await["status"].take()
    }

    /// Continues a run until it rests, and returns its status.
    pub(crate) async fn drive(&self, run: &str) -> Value {
        drive(&self.app, &self.project, run).await
    }

    /// Resumes a run of a slow product, and returns when its plan is being made. The call ends after [`workers::finish_plan`].
    pub(crate) async fn begin_plan(&self, run: &str, slug: &str) -> JoinHandle<Value> {
        let (app, arguments) = (self.app.clone(), self.arguments(run));
        let working = tokio::spawn(async move { call(&app, "launch_resume", arguments).await });
        wait_for("the plan to be made", async || {
            assert!(!working.is_finished(), "the call ended before the plan was made");
            workers::is_planning(slug)
        })
        .await;
        working
    }

    /// Starts a run, continues it until it may be published, and returns its id.
    pub(crate) async fn ready(&self, slug: &str) -> String {
        self.ready_with(self.config(slug)).await
    }

    pub(crate) async fn ready_with(&self, config: Value) -> String {
        let run = self.start_with(config).await;
        let status = self.drive(&run).await;
        assert_eq!(status["state"], "READY_FOR_PR", "{status:#}");
        run
    }

    /// The content of an artifact that is text.
    pub(crate) async fn artifact(&self, run: &str, name: &str) -> String {
        let mut arguments = self.arguments(run);
        arguments["artifact_name"] = name.into();
        arguments["bytes_max"] = 262_144.into();
        let read = result(&self.app, "launch_get_artifact", arguments).await;
        assert!(read["artifact"]["next_offset"].is_null(), "{name} has several parts");
        read["artifact"]["content"].as_str().unwrap().to_owned()
    }

    /// Runs git in the site and returns the output.
    pub(crate) fn site_git(&self, arguments: &[&str]) -> String {
        git_output(self.site.path(), arguments)
    }

    /// The branches of the site beside `main`.
    pub(crate) fn published(&self) -> Vec<String> {
        let all = self.site_git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        all.lines().filter(|name| *name != "main").map(str::to_owned).collect()
    }
}

/// Calls a tool about a run, again and again while another process may still work on the run.
pub(crate) async fn patiently(app: &Arc<App>, project: &str, tool: &str, run: &str) -> Value {
    let mut attempts = 0;
    loop {
        let mut envelope = call(app, tool, json!({ "run_id": run, "project_id": project })).await;
        if envelope["ok"] == true {
            return envelope["result"].take();
        }
        let error = &envelope["error"];
        assert_eq!(
            (code(error), &error["retryable"]),
            ("ILLEGAL_STATE", &json!(true)),
            "{tool}: {envelope:#}"
        );
        attempts += 1;
        assert!(attempts < 600, "another process works on the run for too long: {envelope:#}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Continues a run until it rests, and returns its status.
pub(crate) async fn drive(app: &Arc<App>, project: &str, run: &str) -> Value {
    let mut before = Value::Null;
    loop {
        let status = patiently(app, project, "launch_resume", run).await["status"].take();
        let state = &status["state"];
        let rests = ["READY_FOR_PR", "DONE", "FAILED", "CANCELLED"].iter().any(|rest| state == rest);
        if rests || *state == before || status["pending"].is_string() {
            return status;
        }
        before = state.clone();
    }
}

/// Name and hash of each artifact of a status.
pub(crate) fn hashes(status: &Value) -> BTreeMap<String, Value> {
    let artifacts = status["artifacts"].as_array().unwrap().iter();
    artifacts.map(|one| (one["name"].as_str().unwrap().to_owned(), one["sha256"].clone())).collect()
}

/// The open blockers of a status, in order.
pub(crate) fn blockers(status: &Value) -> Vec<Value> {
    let open = status["open_issues"].as_array().unwrap_or_else(|| panic!("{status:#}")).iter();
    open.filter(|issue| issue["severity"] == "blocker").cloned().collect()
}

/// The code of an error.
pub(crate) fn code(error: &Value) -> &str {
    error["code"].as_str().unwrap_or_default()
}
