//! Times of many calls as a few figures.

use std::time::Duration;

use serde::Serialize;

/// Milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Latency {
    /// Calls.
    pub count: usize,
    /// Half of them took at most so long.
    pub p50_ms: f64,
    /// … 95 of 100.
    pub p95_ms: f64,
    /// … 99 of 100.
    pub p99_ms: f64,
    /// The longest.
    pub max_ms: f64,
    /// The mean.
    pub mean_ms: f64,
}

impl Latency {
    /// Of these calls.
    #[must_use]
    pub fn of(mut times: Vec<Duration>) -> Self {
        times.sort();
        let mean = times.iter().sum::<Duration>().as_secs_f64() * 1e3 / count(times.len().max(1));
        Self {
            count: times.len(),
            p50_ms: at(&times, 50),
            p95_ms: at(&times, 95),
            p99_ms: at(&times, 99),
            max_ms: at(&times, 100),
            mean_ms: rounded(mean),
        }
    }
}

/// The time that `percent` of the calls did not exceed; `times` ascend.
fn at(times: &[Duration], percent: usize) -> f64 {
    let place = (times.len() * percent).div_ceil(100).max(1) - 1;
    times.get(place).map_or(0.0, |time| rounded(time.as_secs_f64() * 1e3))
}

/// Three digits behind the point.
pub(super) fn rounded(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}

/// A count for arithmetic.
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
        let latency = Latency::of(times);
        assert_eq!(
            (latency.p50_ms, latency.p95_ms, latency.p99_ms, latency.max_ms),
            (100.0, 190.0, 198.0, 200.0)
        );
        assert_eq!((latency.count, latency.mean_ms), (200, 100.5));
        assert_eq!(Latency::of(vec![Duration::from_millis(7)]).p50_ms, 7.0);
        assert_eq!(Latency::of(Vec::new()), Latency::default());
    }
}
