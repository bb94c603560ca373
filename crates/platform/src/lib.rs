//! Services of the operating system, each within bounds: untrusted files beneath a root, child processes, free disk space,
//! outbound HTTP, logs and metrics; hashing and blocking tasks for all packages.

pub mod beneath;
pub mod failpoints;
pub mod outbound;
pub mod process;
pub mod room;
pub mod sha256;
pub mod task;
pub mod telemetry;
