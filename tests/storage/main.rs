//! Storage under a real Postgres: workspaces, the queue, fenced writes, retrieval, and connections that die.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod database;

mod connections;
mod finding;
mod queue;
mod workspaces;
mod writing;
