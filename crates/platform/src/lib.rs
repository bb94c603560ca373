//! What the operating system gives, each within bounds: files of others beneath a root, child processes, free room on disk,
//! calls that leave the process, logs and metrics.

pub mod beneath;
pub mod failpoints;
pub mod outbound;
pub mod process;
pub mod room;
pub mod telemetry;
