//! Logs on stderr, Prometheus metrics and spans. Prometheus fetches the metrics; spans are sent only to the collector that the
//! operator configures.

mod logs;
mod metrics;
mod traces;

pub use logs::start_logging;
pub use metrics::{ConnectionEnd, Gauges, LostEntries, Metrics, RunKind, to_prometheus_format};
pub use traces::{join_trace, send_remaining_spans};
