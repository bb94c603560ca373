//! Counts of what happened, as Prometheus reads them.
//!
//! Labels are closed sets (tool names, error codes, routes), so that no client can grow the number of series;
//! projects, keys and queries are never labels.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

type Labels<const N: usize> = [(&'static str, &'static str); N];
type Counters<const N: usize> = Family<Labels<N>, Counter>;
type Histograms = Family<Labels<1>, Histogram, fn() -> Histogram>;

/// Seconds: from a cached answer to a long index run.
const BUCKETS: [f64; 16] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 300.0, 1800.0];

/// The counters of one process. Cheap to touch from anywhere.
pub struct Metrics {
    registry: Mutex<Registry>,
    calls: Counters<3>,
    call_seconds: Histograms,
    runs: [(Histogram, Counters<1>); 2],
    timeouts: Counters<1>,
    fallbacks: Counters<1>,
    refused: Counters<1>,
    connections: Counters<1>,
    audit_lost: Counter,
    requests: Family<[(&'static str, String); 2], Counter>,
    watch_events: Counter,
    watch_runs: Counters<2>,
    gauges: [(&'static str, Gauge); 8],
}

/// Why a connection was refused, or ended by the server before its client was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// All places were taken.
    Full,
    /// Its address had its share of them.
    AddressFull,
    /// Its place was given to a newcomer.
    Displaced,
    /// The client took nothing of what was written for too long.
    NotReading,
}

impl ConnectionEnd {
    fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::AddressFull => "address_full",
            Self::Displaced => "displaced",
            Self::NotReading => "not_reading",
        }
    }
}

/// What is counted at the moment of asking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gauges {
    /// Searches that run.
    pub search_running: usize,
    /// Searches that wait for a place.
    pub search_waiting: usize,
    /// Index calls that run.
    pub index_running: usize,
    /// Index calls that wait for a place.
    pub index_waiting: usize,
    /// Open connections.
    pub connections: usize,
    /// Repositories whose changes are noticed.
    pub watched: usize,
    /// … and those among them that are only looked at now and then.
    pub polled: usize,
    /// Seconds since the server started.
    pub uptime_seconds: u64,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// All counters at zero.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("pairofcleats");
        let histogram: fn() -> Histogram = || Histogram::new(BUCKETS);
        let (calls, timeouts) = (Counters::default(), Counters::default());
        let (fallbacks, refused, requests) = (Counters::default(), Counters::default(), Family::default());
        let call_seconds = Histograms::new_with_constructor(histogram);
        registry.register("tool_calls", "Calls that ran, by tool, surface and outcome", calls.clone());
        registry.register("tool_duration_seconds", "How long a call ran", call_seconds.clone());
        registry.register("timeouts", "Calls that took longer than they may", timeouts.clone());
        registry.register("fallbacks", "Answers that had to do without a part", fallbacks.clone());
        registry.register("refusals", "Calls that were not run, by error code", refused.clone());
        registry.register("http_requests", "HTTP requests, by route and status", requests.clone());
        let connections = Counters::default();
        registry.register(
            "http_connections_ended",
            "Connections that were refused or ended early, by reason",
            connections.clone(),
        );
        let audit_lost = Counter::default();
        registry.register("audit_lost", "Audit entries that could not be kept", audit_lost.clone());
        let (watch_events, watch_runs) = (Counter::default(), Counters::default());
        registry.register("watch_events", "File events in watched repositories", watch_events.clone());
        registry.register("watch_runs", "Index runs that nobody asked for, by trigger", watch_runs.clone());
        let mut runs = |name: &str, what: &str| {
            let (seconds, outcomes) = (histogram(), Counters::<1>::default());
            registry.register(
                format!("{name}_duration_seconds"),
                format!("How long {what} took"),
                seconds.clone(),
            );
            registry.register(format!("{name}_runs"), format!("How {what} ended"), outcomes.clone());
            (seconds, outcomes)
        };
        let runs = [runs("search", "a search"), runs("index", "an index run")];
        let gauges = [
            ("search_running", "Searches that run"),
            ("search_waiting", "Searches that wait for a place"),
            ("index_running", "Index calls that run"),
            ("index_waiting", "Index calls that wait for a place"),
            ("http_connections", "Open connections"),
            ("watch_repositories", "Repositories whose changes are noticed"),
            ("watch_polling", "Watched repositories that are only looked at now and then"),
            ("uptime_seconds", "Seconds since the server started"),
        ]
        .map(|(name, help)| {
            let gauge = Gauge::default();
            registry.register(name, help, gauge.clone());
            (name, gauge)
        });
        let registry = Mutex::new(registry);
        Self {
            registry,
            calls,
            call_seconds,
            runs,
            timeouts,
            fallbacks,
            refused,
            connections,
            audit_lost,
            requests,
            watch_events,
            watch_runs,
            gauges,
        }
    }

    /// A call of `tool` ended with `outcome`: `ok` or an error code.
    pub fn called(&self, tool: &'static str, surface: &'static str, outcome: &'static str, took: Duration) {
        self.calls.get_or_create(&[("tool", tool), ("surface", surface), ("outcome", outcome)]).inc();
        self.call_seconds.get_or_create(&[("tool", tool)]).observe(took.as_secs_f64());
        if outcome == "TOOL_TIMEOUT" {
            self.timeouts.get_or_create(&[("tool", tool)]).inc();
        }
    }

    /// A search or (`index`) an index run ended.
    pub fn ran(&self, index: bool, outcome: &'static str, took: Duration) {
        let (seconds, outcomes) = &self.runs[usize::from(index)];
        seconds.observe(took.as_secs_f64());
        outcomes.get_or_create(&[("status", outcome)]).inc();
    }

    /// An answer had to do without something: `no_vectors`, `degraded` …
    pub fn fell_back(&self, reason: &'static str) {
        self.fallbacks.get_or_create(&[("reason", reason)]).inc();
    }

    /// A call was not run.
    pub fn refused(&self, code: &'static str) {
        self.refused.get_or_create(&[("code", code)]).inc();
    }

    /// A connection was refused, or ended before its client was done.
    pub fn connection_ended(&self, why: ConnectionEnd) {
        self.connections.get_or_create(&[("reason", why.as_str())]).inc();
    }

    /// Audit entries were dropped.
    pub fn lost_audit(&self, entries: u64) {
        self.audit_lost.inc_by(entries);
    }

    /// File events were noticed.
    pub fn heard(&self, events: u64) {
        self.watch_events.inc_by(events);
    }

    /// An index run that nobody asked for ended; `trigger` is `watch` or `schedule`.
    pub fn kept_fresh(&self, trigger: &'static str, outcome: &'static str) {
        self.watch_runs.get_or_create(&[("trigger", trigger), ("status", outcome)]).inc();
    }

    /// An HTTP request was answered; `route` is the pattern, never the path.
    pub fn answered(&self, route: String, status: u16) {
        self.requests.get_or_create(&[("route", route), ("status", status.to_string())]).inc();
    }

    /// All of it as OpenMetrics text.
    #[must_use]
    pub fn text(&self, now: Gauges) -> String {
        let values = [
            now.search_running,
            now.search_waiting,
            now.index_running,
            now.index_waiting,
            now.connections,
            now.watched,
            now.polled,
            usize::try_from(now.uptime_seconds).unwrap_or(usize::MAX),
        ];
        for ((_, gauge), value) in self.gauges.iter().zip(values) {
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        }
        let mut text = String::new();
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        // Writing to a String cannot fail.
        let _ = encode(&mut text, &registry);
        text
    }
}

/// OpenMetrics text in the older format of Prometheus (0.0.4), where a counter's family has the name of its samples.
#[must_use]
pub fn older_format(openmetrics: &str) -> String {
    let families =
        openmetrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"));
    let counters: HashSet<&str> = families.collect();
    let mut text = String::with_capacity(openmetrics.len());
    for line in openmetrics.lines().filter(|line| *line != "# EOF") {
        let described =
            ["# HELP ", "# TYPE "].into_iter().find_map(|word| Some((word, line.strip_prefix(word)?)));
        match described.and_then(|(word, rest)| Some((word, rest.split_once(' ')?))) {
            Some((word, (name, rest))) if counters.contains(name) => {
                text.extend([word, name, "_total ", rest, "\n"]);
            }
            _ => text.extend([line, "\n"]),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_stand_under_their_names() {
        let metrics = Metrics::new();
        metrics.called("search", "mcp", "ok", Duration::from_millis(3));
        metrics.called("search", "mcp", "TOOL_TIMEOUT", Duration::from_secs(8));
        metrics.ran(false, "ok", Duration::from_millis(3));
        metrics.refused("RATE_LIMITED");
        let text = metrics.text(Gauges { search_running: 2, ..Gauges::default() });
        for line in [
            "pairofcleats_tool_calls_total{tool=\"search\",surface=\"mcp\",outcome=\"ok\"} 1",
            "pairofcleats_timeouts_total{tool=\"search\"} 1",
            "pairofcleats_search_runs_total{status=\"ok\"} 1",
            "pairofcleats_refusals_total{code=\"RATE_LIMITED\"} 1",
            "pairofcleats_search_running 2",
            "pairofcleats_search_duration_seconds_count 1",
        ] {
            assert!(text.lines().any(|have| have == line), "{line} is missing in\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
        let older = older_format(&text);
        assert!(
            older.contains("# TYPE pairofcleats_tool_calls_total counter\n") && !older.contains("# EOF"),
            "{older}"
        );
        assert!(older.contains("# TYPE pairofcleats_search_running gauge\n"), "{older}");
        assert_eq!(older.lines().count() + 1, text.lines().count());
    }
}
