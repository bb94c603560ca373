//! Prometheus metrics of one process.
//!
//! Label values come from closed sets (tool names, error codes, routes), so that no client can increase the number of time
//! series. Projects, keys and queries are never labels.

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

/// Bounds of the histogram buckets in seconds, from a cached answer to a long index run.
const BUCKETS: [f64; 16] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 300.0, 1800.0];

/// The metrics of one process. Recording is cheap and thread-safe.
pub struct Metrics {
    registry: Mutex<Registry>,
    calls: Counters<3>,
    call_seconds: Histograms,
    search_runs: RunMetrics,
    index_runs: RunMetrics,
    timeouts: Counters<1>,
    fallbacks: Counters<1>,
    refusals: Counters<1>,
    connection_ends: Counters<1>,
    lost_entries: [Counter; 2],
    http_requests: Family<[(&'static str, String); 2], Counter>,
    watch_events: Counter,
    watch_runs: Counters<2>,
    launch: LaunchMetrics,
    gauges: [(&'static str, Gauge); 8],
}

/// Duration and outcomes of the runs of one kind.
struct RunMetrics {
    seconds: Histogram,
    outcomes: Counters<1>,
}

/// The metrics of launch runs.
struct LaunchMetrics {
    runs: Family<Labels<1>, Gauge>,
    items: Counters<2>,
    gate_failures: Counters<1>,
    forge_calls: Counters<2>,
}

impl LaunchMetrics {
    fn register(registry: &mut Registry) -> Self {
        let (runs, items) = (Family::default(), Counters::default());
        let (gate_failures, forge_calls) = (Counters::default(), Counters::default());
        registry.register("launch_runs", "Launch runs of all projects, by state", runs.clone());
        registry.register("launch_items", "Work items of launch runs, by worker and outcome", items.clone());
        registry.register(
            "launch_gate_failures",
            "Gates that failed in validations of launch runs, by gate",
            gate_failures.clone(),
        );
        registry.register(
            "launch_forge_calls",
            "Calls to forges of launch runs, by kind and status",
            forge_calls.clone(),
        );
        Self { runs, items, gate_failures, forge_calls }
    }
}

/// The kinds of runs with metrics of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    /// A search.
    Search,
    /// An index run.
    Index,
}

/// Entries that a background writer could not store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostEntries {
    /// Entries of the audit log.
    Audit,
    /// Counts of uses of instructions.
    Usage,
}

/// The reason why the server refused or closed a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// Refused: the server has its maximum number of connections.
    Full,
    /// Refused: the client address has its maximum number of connections.
    AddressFull,
    /// Closed to admit a new client.
    Displaced,
    /// Closed because the client did not read the response in time.
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

/// The current values of the gauges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gauges {
    /// Running searches.
    pub search_running: usize,
    /// Searches that wait for a slot.
    pub search_waiting: usize,
    /// Running index calls.
    pub index_running: usize,
    /// Index calls that wait for a slot.
    pub index_waiting: usize,
    /// Open HTTP connections.
    pub connections: usize,
    /// Watched repositories, polled ones included.
    pub watched_repositories: usize,
    /// Watched repositories that are polled, because file events are not available.
    pub polled_repositories: usize,
    /// Seconds since the server started.
    pub uptime_seconds: u64,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

/// Gauges with their help.
const GAUGES: [(&str, &str); 8] = [
    ("search_running", "Running searches"),
    ("search_waiting", "Searches that wait for a slot"),
    ("index_running", "Running index calls"),
    ("index_waiting", "Index calls that wait for a slot"),
    ("http_connections", "Open HTTP connections"),
    ("watch_repositories", "Watched repositories, polled ones included"),
    ("watch_polling", "Watched repositories that are polled, because file events are not available"),
    ("uptime_seconds", "Seconds since the server started"),
];

impl Metrics {
    /// Registers all metrics, with counters at zero.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("pairofcleats");
        let histogram: fn() -> Histogram = || Histogram::new(BUCKETS);
        let (calls, timeouts) = (Counters::default(), Counters::default());
        let (fallbacks, refusals) = (Counters::default(), Counters::default());
        let http_requests = Family::default();
        let call_seconds = Histograms::new_with_constructor(histogram);
        registry.register("tool_calls", "Calls that were run, by tool, surface and outcome", calls.clone());
        registry.register("tool_duration_seconds", "Duration of a call, by tool", call_seconds.clone());
        registry.register("timeouts", "Calls that timed out, by tool", timeouts.clone());
        registry.register("fallbacks", "Answers with a part missing, by reason", fallbacks.clone());
        registry.register("refusals", "Calls that were refused, by error code", refusals.clone());
        registry.register("http_requests", "HTTP requests, by route and status", http_requests.clone());
        let connection_ends = Counters::default();
        let help = "Connections that were refused or closed early, by reason";
        registry.register("http_connections_ended", help, connection_ends.clone());
        let mut counter = |name: &str, help: &str| {
            let counter = Counter::default();
            registry.register(name, help, counter.clone());
            counter
        };
        let lost_entries = [
            counter("audit_lost", "Audit entries that could not be stored"),
            counter("usage_lost", "Counts of uses of instructions that could not be stored"),
        ];
        let watch_events = counter("watch_events", "File events in watched repositories");
        let watch_runs = Counters::default();
        registry.register("watch_runs", "Automatic index runs, by trigger and outcome", watch_runs.clone());
        let launch = LaunchMetrics::register(&mut registry);
        let mut register_runs = |name: &str, noun: &str, plural: &str| {
            let (seconds, outcomes) = (histogram(), Counters::<1>::default());
            registry.register(
                format!("{name}_duration_seconds"),
                format!("Duration of {noun}"),
                seconds.clone(),
            );
            registry.register(format!("{name}_runs"), format!("{plural}, by outcome"), outcomes.clone());
            RunMetrics { seconds, outcomes }
        };
        let search_runs = register_runs("search", "a search", "Searches");
        let index_runs = register_runs("index", "an index run", "Index runs");
        let gauges = GAUGES.map(|(name, help)| {
            let gauge = Gauge::default();
            registry.register(name, help, gauge.clone());
            (name, gauge)
        });
        let registry = Mutex::new(registry);
        Self {
            registry,
            calls,
            call_seconds,
            search_runs,
            index_runs,
            timeouts,
            fallbacks,
            refusals,
            connection_ends,
            lost_entries,
            http_requests,
            watch_events,
            watch_runs,
            launch,
            gauges,
        }
    }

    /// Records a call that ended with `outcome`: `ok` or an error code.
    pub fn record_call(
        &self,
        tool: &'static str,
        surface: &'static str,
        outcome: &'static str,
        duration: Duration,
    ) {
        self.calls.get_or_create(&[("tool", tool), ("surface", surface), ("outcome", outcome)]).inc();
        self.call_seconds.get_or_create(&[("tool", tool)]).observe(duration.as_secs_f64());
        if outcome == "TOOL_TIMEOUT" {
            self.timeouts.get_or_create(&[("tool", tool)]).inc();
        }
    }

    /// Records a search or an index run that ended with `outcome`: `ok` or an error code.
    pub fn record_run(&self, kind: RunKind, outcome: &'static str, duration: Duration) {
        let runs = match kind {
            RunKind::Search => &self.search_runs,
            RunKind::Index => &self.index_runs,
        };
        runs.seconds.observe(duration.as_secs_f64());
        runs.outcomes.get_or_create(&[("status", outcome)]).inc();
    }

    /// Records an answer with a part missing: `no_vectors`, `degraded` …
    pub fn record_fallback(&self, reason: &'static str) {
        self.fallbacks.get_or_create(&[("reason", reason)]).inc();
    }

    /// Records a call that was not run.
    pub fn record_refusal(&self, code: &'static str) {
        self.refusals.get_or_create(&[("code", code)]).inc();
    }

    /// Records a connection that was refused or closed early.
    pub fn record_connection_end(&self, reason: ConnectionEnd) {
        self.connection_ends.get_or_create(&[("reason", reason.as_str())]).inc();
    }

    /// Records entries that could not be stored.
    pub fn record_lost_entries(&self, entries: LostEntries, count: u64) {
        let [audit, usage] = &self.lost_entries;
        match entries {
            LostEntries::Audit => audit.inc_by(count),
            LostEntries::Usage => usage.inc_by(count),
        };
    }

    /// Records file events in watched repositories.
    pub fn record_watch_events(&self, count: u64) {
        self.watch_events.inc_by(count);
    }

    /// Records an automatic index run; `trigger` is `watch`, `schedule`, `push` or `source`.
    pub fn record_automatic_run(&self, trigger: &'static str, outcome: &'static str) {
        self.watch_runs.get_or_create(&[("trigger", trigger), ("status", outcome)]).inc();
    }

    /// Sets the numbers of launch runs in each state, of all projects.
    pub fn set_launch_runs(&self, counts: impl IntoIterator<Item = (&'static str, i64)>) {
        for (state, count) in counts {
            self.launch.runs.get_or_create(&[("state", state)]).set(count);
        }
    }

    /// Records an attempt at a work item that ended: `finished`, `failed` or `dropped`.
    pub fn record_launch_item(&self, worker: &'static str, outcome: &'static str) {
        self.launch.items.get_or_create(&[("worker", worker), ("outcome", outcome)]).inc();
    }

    /// Records that a gate failed in a validation.
    pub fn record_gate_failure(&self, gate: &'static str) {
        self.launch.gate_failures.get_or_create(&[("gate", gate)]).inc();
    }

    /// Records a call to a forge; `status` is the class of the answer, such as `2xx`, or the reason why there was no answer.
    pub fn record_forge_call(&self, kind: &'static str, status: &'static str) {
        self.launch.forge_calls.get_or_create(&[("kind", kind), ("status", status)]).inc();
    }

    /// Records an HTTP request; `route` is the route's pattern, never the path of the request.
    pub fn record_http_request(&self, route: String, status: u16) {
        self.http_requests.get_or_create(&[("route", route), ("status", status.to_string())]).inc();
    }

    /// Returns all metrics as OpenMetrics text.
    #[must_use]
    pub fn to_openmetrics(&self, gauges: Gauges) -> String {
        // In the order of `self.gauges`.
        let values = [
            gauges.search_running,
            gauges.search_waiting,
            gauges.index_running,
            gauges.index_waiting,
            gauges.connections,
            gauges.watched_repositories,
            gauges.polled_repositories,
            usize::try_from(gauges.uptime_seconds).unwrap_or(usize::MAX),
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

/// Converts OpenMetrics text to the Prometheus text format 0.0.4, in which the `HELP` and `TYPE` lines of a counter have its
/// full name, with `_total`.
#[must_use]
pub fn to_prometheus_format(openmetrics: &str) -> String {
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
    fn recorded_values_are_exported_in_both_formats() {
        let metrics = Metrics::new();
        metrics.record_call("search", "mcp", "ok", Duration::from_millis(3));
        metrics.record_call("search", "mcp", "TOOL_TIMEOUT", Duration::from_secs(8));
        metrics.record_run(RunKind::Search, "ok", Duration::from_millis(3));
        metrics.record_refusal("RATE_LIMITED");
        metrics.set_launch_runs([("DONE", 3)]);
        metrics.set_launch_runs([("DONE", 2), ("FAILED", 0)]);
        metrics.record_launch_item("scout", "finished");
        metrics.record_gate_failure("secrets");
        let text = metrics.to_openmetrics(Gauges { search_running: 2, ..Gauges::default() });
        for line in [
            "pairofcleats_tool_calls_total{tool=\"search\",surface=\"mcp\",outcome=\"ok\"} 1",
            "pairofcleats_timeouts_total{tool=\"search\"} 1",
            "pairofcleats_search_runs_total{status=\"ok\"} 1",
            "pairofcleats_refusals_total{code=\"RATE_LIMITED\"} 1",
            "pairofcleats_launch_runs{state=\"DONE\"} 2",
            "pairofcleats_launch_items_total{worker=\"scout\",outcome=\"finished\"} 1",
            "pairofcleats_launch_gate_failures_total{gate=\"secrets\"} 1",
            "pairofcleats_search_running 2",
            "pairofcleats_search_duration_seconds_count 1",
        ] {
            assert!(text.lines().any(|exported| exported == line), "{line} is missing in\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
        let prometheus = to_prometheus_format(&text);
        assert!(
            prometheus.contains("# TYPE pairofcleats_tool_calls_total counter\n")
                && !prometheus.contains("# EOF"),
            "{prometheus}"
        );
        assert!(prometheus.contains("# TYPE pairofcleats_search_running gauge\n"), "{prometheus}");
        assert_eq!(prometheus.lines().count() + 1, text.lines().count());
    }
}
