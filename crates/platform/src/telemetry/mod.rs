//! What the process says of itself: logs on stderr, counts for Prometheus. Nothing leaves the machine by itself.

mod logs;
mod metrics;

pub use logs::start;
pub use metrics::{ConnectionEnd, Gauges, Metrics, older_format};
