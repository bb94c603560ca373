//! Storage under a real Postgres: workspaces, the queue, fenced writes, retrieval, and connections that die.

pub(crate) mod database;

mod connections;
mod finding;
mod queue;
mod queue_model;
mod workspaces;
mod writing;
