//! Operating system services with limits: untrusted files, child processes and their sandbox, free disk space, outbound HTTP,
//! logs and metrics; also hashing and blocking tasks for all packages.

pub mod disk_space;
pub mod failpoints;
pub mod file_lock;
pub mod outbound;
pub mod process;
pub mod safe_open;
pub mod sha256;
pub mod task;
pub mod telemetry;
