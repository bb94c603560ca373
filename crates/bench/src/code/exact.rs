//! The first lines of regular expressions.

use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::json;

use super::PROJECT;
use crate::Experiment;
use crate::speed::Latency;
use contract::Fault;

/// Patterns as people type them, each with a literal of at least three letters, from rare to very frequent.
const PATTERNS: [&str; 10] = [
    r"BlueprintSetupState\.\w+", r"raise \w+Error\(", r"class \w+\(.*Exception", r"TODO|FIXME",
    r"def test_\w+_error", r"console\.(log|error)\(", r#"https?://[^\s"]+"#, r"return nil, err",
    r"fn \w+\(&self", r"[Ss]ession\w*\s*=",
];
/// Lines of the page.
const LINES: usize = 50;

/// The times of a pattern.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PatternFigures {
    /// The pattern.
    pub pattern: &'static str,
    /// Number of matching lines, at least.
    pub lines: u64,
    /// Time until the first page is there.
    pub latency: Latency,
}

/// Searches each pattern `repeats` times over the whole project.
pub(super) async fn measure(
    experiment: &Experiment,
    repeats: usize,
    on_progress: &(dyn Fn(&str) + Sync),
) -> Result<Vec<PatternFigures>, Fault> {
    let mut figures = Vec::with_capacity(PATTERNS.len());
    for pattern in PATTERNS {
        let (mut times, mut lines): (Vec<Duration>, u64) = (Vec::with_capacity(repeats), 0);
        for _ in 0..=repeats {
            let arguments = json!({ "query": pattern, "regex": true, "repoPath": "*", "project_id": PROJECT, "top": LINES });
            let started = Instant::now();
            let answer = experiment.call("search", arguments).await?;
            times.push(started.elapsed());
            lines = answer["total"].as_u64().unwrap_or_default();
        }
        // The first one warms the caches.
        times.remove(0);
        let latency = Latency::from_times(times);
        on_progress(&format!("{pattern}: {lines} lines, p50 {:.1} ms", latency.p50_ms));
        figures.push(PatternFigures { pattern, lines, latency });
    }
    Ok(figures)
}

/// The median of the medians.
pub(super) fn median(figures: &[PatternFigures]) -> f64 {
    let mut medians: Vec<f64> = figures.iter().map(|one| one.latency.p50_ms).collect();
    medians.sort_by(f64::total_cmp);
    medians.get(medians.len() / 2).copied().unwrap_or_default()
}
