//! Latency percentiles.

use std::time::Duration;

use serde::Serialize;

/// The latency of a series of calls, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Latency {
    /// Number of calls.
    pub count: usize,
    /// Median.
    pub p50_ms: f64,
    /// 95th percentile.
    pub p95_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// Maximum.
    pub max_ms: f64,
    /// Mean.
    pub mean_ms: f64,
}

impl Latency {
    /// Summarises the times of calls.
    #[must_use]
    pub fn from_times(mut times: Vec<Duration>) -> Self {
        times.sort();
        let mean = times.iter().sum::<Duration>().as_secs_f64() * 1e3 / count(times.len().max(1));
        Self {
            count: times.len(),
            p50_ms: percentile(&times, 50),
            p95_ms: percentile(&times, 95),
            p99_ms: percentile(&times, 99),
            max_ms: percentile(&times, 100),
            mean_ms: rounded(mean),
        }
    }
}

/// The nearest-rank percentile of sorted times.
fn percentile(times: &[Duration], percent: usize) -> f64 {
    let place = (times.len() * percent).div_ceil(100).max(1) - 1;
    times.get(place).map_or(0.0, |time| rounded(time.as_secs_f64() * 1e3))
}

/// Rounds to three decimal places.
pub(super) fn rounded(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}

/// Converts a count for arithmetic.
#[expect(clippy::cast_precision_loss, reason = "counts of calls, files and bytes")]
pub(super) fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let times = (1..=200).rev().map(Duration::from_millis).collect();
        let latency = Latency::from_times(times);
        assert_eq!(
            (latency.p50_ms, latency.p95_ms, latency.p99_ms, latency.max_ms),
            (100.0, 190.0, 198.0, 200.0)
        );
        assert_eq!((latency.count, latency.mean_ms), (200, 100.5));
        assert_eq!(Latency::from_times(vec![Duration::from_millis(7)]).p50_ms, 7.0);
        assert_eq!(Latency::from_times(Vec::new()), Latency::default());
    }
}
