//! Runs the official conformance suite against our dispatch and transports. `tests/clients/conformance.md` lists, for each
//! scenario, whether it must pass.

use std::collections::BTreeMap;

use surfaces::http;
use tempfile::TempDir;

use super::setup::node_program;
use super::{describe_output, fixtures, run};
use crate::harness::app_with;
use crate::modules::MODULES;

const SUITE_PROGRAM: &str = "@modelcontextprotocol/conformance/dist/index.js";
const SCENARIO_LIST: &str = include_str!("../../clients/conformance.md");

/// Name of each listed scenario, and whether it must pass.
fn listed_scenarios() -> BTreeMap<&'static str, bool> {
    let rows = SCENARIO_LIST.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let row = match (cells.next()?, cells.next()?) {
            (name, "passes") => (name, true),
            (name, "does not apply") => (name, false),
            _ => return None,
        };
        Some(row)
    });
    rows.collect()
}

/// Names of the scenarios that the suite ran: their lines read `✓ name: counts` or `✗ name: counts`.
fn scenarios_run(report: &str) -> Vec<&str> {
    let result_lines = report.lines().filter_map(|line| line.strip_prefix("✓ ").or(line.strip_prefix("✗ ")));
    result_lines.filter_map(|line| line.split_once(": ").map(|(name, _)| name)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_listed_scenario_ran_and_passed_where_it_applies() {
    let app = app_with(|config| {
        config.server.port = 0;
        // The suite counts progress notifications; the default interval would drop some of them.
        config.mcp.progress_interval_ms = 1;
    });
    let listening = http::listen(&app).await.unwrap();
    let url = format!("http://{}/mcp", listening.address());
    let router = http::router_with(&app, &MODULES, fixtures::toolbox());
    let serving = tokio::spawn({
        let app = app.clone();
        async move { listening.serve_router(&app, router).await }
    });
    let listed_scenarios = listed_scenarios();
    let folder = TempDir::new().unwrap();
    let baseline = folder.path().join("expected-failures.yml");
    let expected_failures: String = listed_scenarios
        .iter()
        .filter(|(_, passes)| !**passes)
        .map(|(name, _)| format!("  - {name}\n"))
        .collect();
    std::fs::write(&baseline, format!("server:\n{expected_failures}")).unwrap();

    let mut suite = node_program(SUITE_PROGRAM);
    suite.args(["server", "--suite", "all", "--url", &url, "--expected-failures"]).arg(baseline);
    suite.arg("--output-dir").arg(folder.path());
    let output = tokio::task::spawn_blocking(move || run(suite)).await.unwrap();
    assert!(output.status.success(), "{}", describe_output(&output));
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut scenarios_run = scenarios_run(&report);
    scenarios_run.sort_unstable();
    assert_eq!(
        scenarios_run,
        listed_scenarios.keys().copied().collect::<Vec<_>>(),
        "the list has a row for each scenario"
    );
    app.shutdown.cancel();
    serving.await.unwrap();
}
