//! Keeping indexes fresh: file events, the schedule, git hooks, and the command `watch`.

mod command;
mod hooks;
mod schedule;
mod watching;

use std::sync::Arc;
use std::time::Duration;

use contract::config::{Config, WatchedRepositories, WatchedRepository};
use gate::app::App;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection, Row};

use crate::harness::{app_with, result, server};

/// An application that keeps repositories fresh until it is dropped.
struct FreshApp(Arc<App>);

impl FreshApp {
    /// Watches the repository at `root`.
    fn watch(root: &str, project: &str, change: impl FnOnce(&mut Config)) -> Self {
        Self::start(|config| {
            let (path, project) = (root.into(), Some(project.to_owned()));
            config.freshness.watch = WatchedRepositories::Listed(vec![WatchedRepository { path, project }]);
            change(config);
        })
    }

    /// Keeps fresh what the settings name.
    fn start(change: impl FnOnce(&mut Config)) -> Self {
        let app = app_with(|config| {
            config.freshness.debounce_ms = 100;
            config.freshness.poll_ms = 500;
            change(config);
        });
        app.start_refreshes();
        Self(app)
    }

    fn app(&self) -> &Arc<App> {
        &self.0
    }

    /// The number of runs by `pairofcleats_watch_runs_total`, over all series whose labels contain `label`.
    fn runs(&self, label: &str) -> u64 {
        let text = self.0.metrics_text();
        let counts = text.lines().filter(|line| line.starts_with("pairofcleats_watch_runs_total{"));
        counts.filter(|line| line.contains(label)).map(last_number).sum()
    }

    /// The value of a gauge or counter without labels.
    fn metric(&self, name: &str) -> u64 {
        let text = self.0.metrics_text();
        text.lines().find(|line| line.starts_with(&format!("{name} "))).map_or(0, last_number)
    }

    /// Waits until no run is going on and none has ended for 1.5 s, and returns how many there were.
    async fn runs_when_idle(&self) -> u64 {
        let mut runs = self.runs("");
        loop {
            tokio::time::sleep(Duration::from_millis(1500)).await;
            let now = self.runs("");
            let [_, index_runs] = self.0.queues.load();
            if now == runs && index_runs == (0, 0) {
                return runs;
            }
            runs = now;
        }
    }

    /// Stops as on a signal, and waits until everything has stopped.
    async fn stop(self) {
        self.0.shutdown.cancel();
        self.0.wait_stopped().await;
    }
}

impl Drop for FreshApp {
    fn drop(&mut self) {
        self.0.shutdown.cancel();
    }
}

fn last_number(line: &str) -> u64 {
    line.rsplit(' ')
        .next()
        .and_then(|last_number| last_number.parse().ok())
        .unwrap_or_else(|| panic!("{line}"))
}

/// Waits for a condition, for at most two minutes.
async fn wait_until(condition: &str, mut reached: impl AsyncFnMut() -> bool) {
    for _ in 0..1200 {
        if reached().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("timed out waiting for: {condition}");
}

/// The files in which a search finds `word`, sorted; empty while nothing is indexed.
async fn files_with(app: &Arc<App>, project: &str, word: &str) -> Vec<String> {
    let quoted = json!({ "query": format!("\"{word}\""), "project_id": project, "top": 50 });
    let answer = crate::harness::call(app, "search", quoted).await;
    let Some(hits) = answer["result"]["hits"].as_array() else {
        assert_eq!(answer["error"]["code"], "NO_INDEX", "{answer:#}");
        return Vec::new();
    };
    let mut files: Vec<String> = hits.iter().map(|hit| hit["file"].as_str().unwrap().to_owned()).collect();
    files.sort();
    files.dedup();
    files
}

/// Waits until a search finds `word` in exactly these files.
async fn wait_for(app: &Arc<App>, project: &str, word: &str, files: &[&str]) {
    wait_until(&format!("`{word}` in {files:?}"), async || files_with(app, project, word).await == files)
        .await;
}

/// Indexes once, as a client would.
async fn index(app: &Arc<App>, root: &str, project: &str) -> Value {
    result(app, "build_index", json!({ "repoPath": root, "project_id": project })).await
}

/// The indexed content of a project as one text, to compare two projects.
async fn indexed_content(schema: &str) -> String {
    let mut connection = PgConnection::connect_with(&server().connect_options()).await.unwrap();
    let text = format!(
        "SELECT string_agg(f.path || ' ' || c.start_line || '-' || c.end_line || ' ' || md5(c.content) || ' ' \
         || (SELECT count(*) FROM {schema}.vectors v WHERE v.hash = c.content_hash), E'\\n' \
         ORDER BY f.path, c.start_line, c.ordinal) FROM {schema}.chunks c JOIN {schema}.files f ON f.id = c.file_id"
    );
    let row = sqlx::query(sqlx::AssertSqlSafe(text)).fetch_one(&mut connection).await.unwrap();
    row.get::<Option<String>, _>(0).unwrap_or_default()
}
