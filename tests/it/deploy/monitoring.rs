//! Alerts and dashboard ask only for metrics and labels that the server has.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use platform::telemetry::{ConnectionEnd, Gauges, Metrics, older_format};
use promql_parser::parser::{self, Expr, LabelModifier};
use promql_parser::util::{ExprVisitor, walk_expr};
use serde_json::Value;

use super::{text, yaml};

/// Every metric with its labels, from the text that Prometheus reads.
fn metrics() -> BTreeMap<String, BTreeSet<String>> {
    let metrics = Metrics::new();
    metrics.called("search", "http", "TOOL_TIMEOUT", Duration::from_millis(1));
    metrics.ran(false, "ok", Duration::from_millis(1));
    metrics.ran(true, "ok", Duration::from_millis(1));
    metrics.fell_back("degraded");
    metrics.refused("RATE_LIMITED");
    metrics.connection_ended(ConnectionEnd::NotReading);
    metrics.lost_audit(1);
    metrics.answered("/search".to_owned(), 200);
    metrics.heard(1);
    metrics.kept_fresh("watch", "ok");
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in older_format(&metrics.text(Gauges::default())).lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.split_at(line.find(['{', ' ']).unwrap());
        let labels =
            rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).map_or("", |(labels, _)| labels);
        let names = labels.split(',').filter_map(|label| Some(label.split_once('=')?.0.to_owned()));
        found.entry(name.to_owned()).or_default().extend(names);
    }
    // Of Prometheus itself.
    found.insert("up".to_owned(), BTreeSet::new());
    for labels in found.values_mut() {
        labels.insert("job".to_owned());
    }
    found
}

/// What a query asks for.
#[derive(Default)]
struct Asked {
    metrics: BTreeSet<String>,
    labels: BTreeSet<String>,
    wrong: Vec<String>,
}

struct Reader<'a>(&'a BTreeMap<String, BTreeSet<String>>, Asked);

impl ExprVisitor for Reader<'_> {
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
                None => self.1.wrong.push(format!("there is no metric `{name}`")),
                Some(labels) => {
                    let strange =
                        selector.matchers.matchers.iter().filter(|matcher| !labels.contains(&matcher.name));
                    self.1
                        .wrong
                        .extend(strange.map(|matcher| format!("`{name}` has no label `{}`", matcher.name)));
                }
            }
            self.1.metrics.insert(name);
        }
        Ok(true)
    }
}

/// Checks a query; `shown` is text with labels in double braces.
fn check(
    known: &BTreeMap<String, BTreeSet<String>>,
    query: &str,
    shown: &str,
) -> Result<BTreeSet<String>, Vec<String>> {
    let query = query.replace("$__rate_interval", "5m");
    let expression = parser::parse(&query).map_err(|error| vec![format!("{query}: {error}")])?;
    let mut reader = Reader(known, Asked::default());
    walk_expr(&mut reader, &expression).unwrap();
    let mut asked = reader.1;
    let has = |label: &String| {
        asked.metrics.iter().any(|name| known.get(name).is_some_and(|of| of.contains(label)))
    };
    let strange: Vec<String> = asked.labels.iter().filter(|label| !has(label)).cloned().collect();
    asked.wrong.extend(strange.iter().map(|label| format!("{query}: no label `{label}`")));
    for used in shown.split("{{").skip(1) {
        let label = used.split("}}").next().unwrap().trim().trim_start_matches("$labels.").to_owned();
        if label != "$value" && !asked.labels.contains(&label) {
            asked.wrong.push(format!("{query}: `{label}` is shown and not kept"));
        }
    }
    if asked.wrong.is_empty() { Ok(asked.metrics) } else { Err(asked.wrong) }
}

#[test]
fn alerts_ask_for_what_there_is() {
    let (known, rules) = (metrics(), yaml("deploy/prometheus/rules.yml"));
    let mut names = BTreeSet::new();
    for rule in rules["groups"][0]["rules"].as_array().unwrap() {
        let (name, query) = (rule["alert"].as_str().unwrap(), rule["expr"].as_str().unwrap());
        assert!(names.insert(name.to_owned()), "{name} stands there twice");
        let shown = rule["annotations"]["summary"].as_str().unwrap();
        check(&known, query, shown).unwrap_or_else(|wrong| panic!("{name}: {wrong:?}"));
        assert!(rule["annotations"]["action"].is_string(), "{name} does not say what to do");
        assert!(matches!(rule["labels"]["severity"].as_str(), Some("page" | "ticket")), "{name}");
    }
    assert!(names.len() >= 8, "{names:?}");
}

#[test]
fn the_dashboard_shows_every_metric_and_no_other() {
    let known = metrics();
    let dashboard: Value = serde_json::from_str(&text("deploy/grafana/dashboard.json")).unwrap();
    let (mut ids, mut shown) = (BTreeSet::new(), BTreeSet::new());
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        for target in panel["targets"].as_array().unwrap() {
            let (query, legend) =
                (target["expr"].as_str().unwrap(), target["legendFormat"].as_str().unwrap());
            let metrics =
                check(&known, query, legend).unwrap_or_else(|wrong| panic!("{}: {wrong:?}", panel["title"]));
            shown.extend(metrics.iter().map(|name| name.trim_end_matches("_bucket").to_owned()));
        }
    }
    let all =
        known.keys().filter(|name| *name != "up" && !name.ends_with("_sum") && !name.ends_with("_count"));
    let all: BTreeSet<String> = all.map(|name| name.trim_end_matches("_bucket").to_owned()).collect();
    let missing: Vec<_> = all
        .difference(&shown)
        .filter(|name| *name != "pairofcleats_search_runs_total" && !name.contains("index_duration"))
        .collect();
    assert!(missing.is_empty(), "on no panel: {missing:?}");
}

#[test]
fn queries_about_what_there_is_not_are_found() {
    let known = metrics();
    for (wrong, shown) in [
        ("rate(pairofcleats_no_such_total[5m])", ""),
        ("pairofcleats_search_running{project=\"a\"}", ""),
        ("sum by (project) (pairofcleats_tool_calls_total)", ""),
        ("sum by (tool) (pairofcleats_tool_calls_total)", "{{surface}}"),
        ("sum(", ""),
    ] {
        assert!(check(&known, wrong, shown).is_err(), "{wrong}");
    }
}
