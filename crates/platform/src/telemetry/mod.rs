//! Logs on stderr and Prometheus metrics. Nothing is sent: Prometheus fetches the metrics.

mod logs;
mod metrics;

pub use logs::start_logging;
pub use metrics::{ConnectionEnd, Gauges, LostEntries, Metrics, RunKind, to_prometheus_format};
