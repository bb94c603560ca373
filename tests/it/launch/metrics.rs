//! Metrics of runs, and `doctor` on their sites.

use serde_json::Value;

use super::Scene;
use crate::harness::{home_with_few_projects, new_home, run_json};
use crate::models::wait_for;

/// The value of a metric with these labels; `None` if it is not exported.
fn value(text: &str, metric: &str) -> Option<u64> {
    let line = format!("pairofcleats_launch_{metric} ");
    text.lines().find_map(|exported| exported.strip_prefix(&line)?.parse().ok())
}

#[tokio::test(flavor = "multi_thread")]
async fn items_gates_and_states_are_counted() {
    // A home of its own: the numbers of runs are those of the whole installation.
    let home = new_home("launch-metrics");
    let scene = Scene::in_home(&home, |config| config.launch.auto_advance = false).await;
    let faulty = scene.start("faulty").await;
    assert_eq!(scene.drive(&faulty).await["state"], "VALIDATING");
    let broken = scene.start("broken").await;
    assert_eq!(scene.drive(&broken).await["state"], "FAILED");
    let text = scene.app.metrics_text();
    for (metric, expected) in [
        ("items_total{worker=\"scout\",outcome=\"finished\"}", Some(2)),
        ("items_total{worker=\"write\",outcome=\"finished\"}", Some(2)),
        ("items_total{worker=\"plan\",outcome=\"failed\"}", Some(1)),
        ("items_total{worker=\"plan\",outcome=\"finished\"}", Some(1)),
        ("items_total{worker=\"fix\",outcome=\"finished\"}", None),
        ("gate_failures_total{gate=\"secrets\"}", None),
        ("runs{state=\"FAILED\"}", None),
    ] {
        assert_eq!(value(&text, metric), expected, "{metric}:\n{text}");
    }
    let failures = value(&text, "gate_failures_total{gate=\"truth_lock\"}");
    assert!(failures.is_some_and(|count| count > 0), "{text}");
    scene.app.start_background();
    wait_for("the runs to be counted", async || {
        let text = scene.app.metrics_text();
        let count = |state: &str| value(&text, &format!("runs{{state=\"{state}\"}}"));
        count("VALIDATING") == Some(1) && count("FAILED") == Some(1) && count("DONE") == Some(0)
    })
    .await;
    scene.result("launch_cancel", &faulty).await;
    wait_for("the change of a state to be seen", async || {
        let text = scene.app.metrics_text();
        value(&text, "runs{state=\"CANCELLED\"}") == Some(1)
            && value(&text, "runs{state=\"VALIDATING\"}") == Some(0)
    })
    .await;
    let text = scene.app.metrics_text();
    let launch: Vec<&str> = text.lines().filter(|line| line.starts_with("pairofcleats_launch_")).collect();
    assert!(launch.len() > 15, "{text}");
    assert!(launch.iter().all(|line| !line.contains(&scene.project)), "projects are no labels:\n{text}");
    scene.app.shutdown.cancel();
    scene.app.wait_stopped().await;
}

/// The check of `doctor` with this name.
fn check(report: &Value, name: &str) -> Value {
    let checks = report["result"]["checks"].as_array().unwrap_or_else(|| panic!("{report:#}"));
    let found = checks.iter().find(|check| check["name"] == name);
    found.unwrap_or_else(|| panic!("{name}: {report:#}")).clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_looks_at_the_sites() {
    let scene = Scene::new().await;
    let site = scene.site.path().to_str().unwrap();
    let sites: Vec<String> = [("good", "main", site), ("trunk", "trunk", site), ("gone", "main", "/no/such/site")]
        .iter()
        .map(|(name, base, repository)| {
            format!(
                "{{ name = {name:?}, repository = {repository:?}, base = {base:?}, allowed_paths = [\"content\"], \
                 forge = \"local\" }}"
            )
        })
        .collect();
    let sites = format!("launch.sites=[{}]", sites.join(", "));
    let (_, report) =
        run_json(home_with_few_projects(), &["doctor", "--set", &sites, "--set", "server.port=0"]);
    let good = check(&report, "launch site good");
    assert!(good["ok"] == true && good["message"].as_str().unwrap().contains("main is at "), "{good:#}");
    for (name, part) in [("trunk", "has no branch trunk"), ("gone", "no bare git repository")] {
        let bad = check(&report, &format!("launch site {name}"));
        assert!(bad["ok"] == false && bad["message"].as_str().unwrap().contains(part), "{bad:#}");
        assert!(bad["remedy"].is_string(), "{bad:#}");
    }
}
