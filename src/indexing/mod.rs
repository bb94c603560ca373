//! Files to rows: walk, read, classify, redact; then plan, chunk, embed and write.

mod others;
pub mod walk;

pub mod file;

pub mod secrets;
