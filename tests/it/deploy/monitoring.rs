//! Alerts and the dashboard use only metrics and labels that the server exports.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use platform::telemetry::{ConnectionEnd, Gauges, LostEntries, Metrics, RunKind, to_prometheus_format};
use promql_parser::parser::{self, Expr, LabelModifier};
use promql_parser::util::{ExprVisitor, walk_expr};
use serde_json::Value;

use super::{text, yaml};

/// Every metric with its labels, read from the Prometheus text format.
fn metrics() -> BTreeMap<String, BTreeSet<String>> {
    let metrics = Metrics::new();
    metrics.record_call("search", "http", "TOOL_TIMEOUT", Duration::from_millis(1));
    metrics.record_run(RunKind::Search, "ok", Duration::from_millis(1));
    metrics.record_run(RunKind::Index, "ok", Duration::from_millis(1));
    metrics.record_fallback("degraded");
    metrics.record_refusal("RATE_LIMITED");
    metrics.record_connection_end(ConnectionEnd::NotReading);
    metrics.record_lost_entries(LostEntries::Audit, 1);
    metrics.record_http_request("/search".to_owned(), 200);
    metrics.record_watch_events(1);
    metrics.record_automatic_run("watch", "ok");
    metrics.record_forge_call("github", "2xx");
    metrics.set_launch_runs([("DONE", 1)]);
    metrics.record_launch_item("scout", "finished");
    metrics.record_gate_failure("secrets");
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let exported = to_prometheus_format(&metrics.to_openmetrics(Gauges::default()));
    for line in exported.lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.split_at(line.find(['{', ' ']).unwrap());
        let labels =
            rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).map_or("", |(labels, _)| labels);
        let names = labels.split(',').filter_map(|label| Some(label.split_once('=')?.0.to_owned()));
        found.entry(name.to_owned()).or_default().extend(names);
    }
    // Added by Prometheus itself.
    found.insert("up".to_owned(), BTreeSet::new());
    for labels in found.values_mut() {
        labels.insert("job".to_owned());
    }
    found
}

/// The metrics and labels that a query uses, and errors for those that do not exist.
#[derive(Default)]
struct QueryUse {
    metrics: BTreeSet<String>,
    labels: BTreeSet<String>,
    errors: Vec<String>,
}

struct QueryVisitor<'a>(&'a BTreeMap<String, BTreeSet<String>>, QueryUse);

impl ExprVisitor for QueryVisitor<'_> {
    type Error = ();

    fn pre_visit(&mut self, expression: &Expr) -> Result<bool, ()> {
        let selector = match expression {
            Expr::VectorSelector(selector) => Some(selector),
            Expr::MatrixSelector(matrix) => Some(&matrix.vs),
            Expr::Aggregate(aggregate) => {
                if let Some(LabelModifier::Include(labels) | LabelModifier::Exclude(labels)) =
                    &aggregate.modifier
                {
                    self.1.labels.extend(labels.labels.iter().cloned());
                }
                None
            }
            _ => None,
        };
        if let Some(selector) = selector {
            let name = selector.name.clone().unwrap_or_default();
            match self.0.get(&name) {
                None => self.1.errors.push(format!("there is no metric `{name}`")),
                Some(labels) => {
                    let unknown =
                        selector.matchers.matchers.iter().filter(|matcher| !labels.contains(&matcher.name));
                    self.1
                        .errors
                        .extend(unknown.map(|matcher| format!("`{name}` has no label `{}`", matcher.name)));
                }
            }
            self.1.metrics.insert(name);
        }
        Ok(true)
    }
}

/// Checks a query and the text shown with its result, which has labels in double braces. Returns the metrics it uses.
fn check(
    known: &BTreeMap<String, BTreeSet<String>>,
    query: &str,
    text_with_labels: &str,
) -> Result<BTreeSet<String>, Vec<String>> {
    let query = query.replace("$__rate_interval", "5m");
    let expression = parser::parse(&query).map_err(|error| vec![format!("{query}: {error}")])?;
    let mut visitor = QueryVisitor(known, QueryUse::default());
    walk_expr(&mut visitor, &expression).unwrap();
    let mut used = visitor.1;
    let has = |label: &String| {
        used.metrics.iter().any(|name| known.get(name).is_some_and(|labels| labels.contains(label)))
    };
    let unknown: Vec<String> = used.labels.iter().filter(|label| !has(label)).cloned().collect();
    used.errors.extend(unknown.iter().map(|label| format!("{query}: no label `{label}`")));
    for placeholder in text_with_labels.split("{{").skip(1) {
        let label = placeholder.split("}}").next().unwrap().trim().trim_start_matches("$labels.").to_owned();
        if label != "$value" && !used.labels.contains(&label) {
            used.errors.push(format!("{query}: `{label}` is shown but not kept by the query"));
        }
    }
    if used.errors.is_empty() { Ok(used.metrics) } else { Err(used.errors) }
}

#[test]
fn alerts_use_only_existing_metrics() {
    let (known, rules) = (metrics(), yaml("deploy/prometheus/rules.yml"));
    let mut names = BTreeSet::new();
    for rule in rules["groups"][0]["rules"].as_array().unwrap() {
        let (name, query) = (rule["alert"].as_str().unwrap(), rule["expr"].as_str().unwrap());
        assert!(names.insert(name.to_owned()), "{name} occurs twice");
        let text_with_labels = rule["annotations"]["summary"].as_str().unwrap();
        check(&known, query, text_with_labels).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
        assert!(rule["annotations"]["action"].is_string(), "{name} does not say what to do");
        assert!(matches!(rule["labels"]["severity"].as_str(), Some("page" | "ticket")), "{name}");
    }
    assert!(names.len() >= 8, "{names:?}");
}

#[test]
fn the_dashboard_shows_every_metric_and_no_other() {
    let known = metrics();
    let dashboard: Value = serde_json::from_str(&text("deploy/grafana/dashboard.json")).unwrap();
    let (mut ids, mut shown_metrics) = (BTreeSet::new(), BTreeSet::new());
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "two panels have this id: {panel}");
        for target in panel["targets"].as_array().unwrap() {
            let (query, legend) =
                (target["expr"].as_str().unwrap(), target["legendFormat"].as_str().unwrap());
            let metrics = check(&known, query, legend)
                .unwrap_or_else(|errors| panic!("{}: {errors:?}", panel["title"]));
            shown_metrics.extend(metrics.iter().map(|name| name.trim_end_matches("_bucket").to_owned()));
        }
    }
    let all =
        known.keys().filter(|name| *name != "up" && !name.ends_with("_sum") && !name.ends_with("_count"));
    let all: BTreeSet<String> = all.map(|name| name.trim_end_matches("_bucket").to_owned()).collect();
    let missing: Vec<_> = all.difference(&shown_metrics).collect();
    assert!(missing.is_empty(), "on no panel: {missing:?}");
}

#[test]
fn queries_with_unknown_metrics_or_labels_are_rejected() {
    let known = metrics();
    for (query, text_with_labels) in [
        ("rate(pairofcleats_no_such_total[5m])", ""),
        ("pairofcleats_search_running{project=\"a\"}", ""),
        ("sum by (project) (pairofcleats_tool_calls_total)", ""),
        ("sum by (tool) (pairofcleats_tool_calls_total)", "{{surface}}"),
        ("sum(", ""),
    ] {
        assert!(check(&known, query, text_with_labels).is_err(), "{query}");
    }
}
