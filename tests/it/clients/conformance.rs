//! The official conformance suite against our dispatch and transports; `tests/clients/conformance.md` is the written list.

use std::collections::BTreeMap;

use pairofcleats::surfaces::http;
use tempfile::TempDir;

use super::setup::node_program;
use super::{fixtures, run, said};
use crate::harness::app_with;

const PROGRAM: &str = "@modelcontextprotocol/conformance/dist/index.js";
const LIST: &str = include_str!("../../clients/conformance.md");

/// Whether the written list says that a scenario passes, by name.
fn written() -> BTreeMap<&'static str, bool> {
    let rows = LIST.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let passes = match (cells.next()?, cells.next()?) {
            (name, "passes") => (name, true),
            (name, "does not apply") => (name, false),
            _ => return None,
        };
        Some(passes)
    });
    rows.collect()
}

/// The scenarios that the suite says it ran: their line is a mark, a name, a colon and counts.
fn ran(report: &str) -> Vec<&str> {
    let marked = report.lines().filter_map(|line| line.strip_prefix("✓ ").or(line.strip_prefix("✗ ")));
    marked.filter_map(|line| line.split_once(": ").map(|(name, _)| name)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_suite_passes_where_it_applies() {
    let app = app_with(|config| {
        config.server.port = 0;
        // The suite counts notifications that the product would thin out.
        config.mcp.progress_interval_ms = 1;
    });
    let listening = http::listen(&app).await.unwrap();
    let url = format!("http://{}/mcp", listening.address());
    let router = http::router_with(&app, fixtures::toolbox());
    let serving = tokio::spawn({
        let app = app.clone();
        async move { listening.serve_router(&app, router).await }
    });
    let written = written();
    let folder = TempDir::new().unwrap();
    let baseline = folder.path().join("expected-failures.yml");
    let expected: String =
        written.iter().filter(|(_, passes)| !**passes).map(|(name, _)| format!("  - {name}\n")).collect();
    std::fs::write(&baseline, format!("server:\n{expected}")).unwrap();

    let mut suite = node_program(PROGRAM);
    suite.args(["server", "--suite", "all", "--url", &url, "--expected-failures"]).arg(baseline);
    suite.arg("--output-dir").arg(folder.path());
    let output = tokio::task::spawn_blocking(move || run(suite)).await.unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut ran = ran(&report);
    ran.sort_unstable();
    assert_eq!(
        ran,
        written.keys().copied().collect::<Vec<_>>(),
        "the written list has a row for each scenario"
    );
    app.shutdown.cancel();
    serving.await.unwrap();
}
