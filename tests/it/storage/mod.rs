//! Storage under a real Postgres: workspaces, the queue, fenced writes, retrieval, and connections that die.

pub(crate) mod database;

mod connections;
mod indexed_texts;
mod instructions;
mod launch;
mod navigation;
mod queue;
mod queue_model;
mod queue_workers;
mod retrieval;
mod revisions;
mod scip;
mod statements;
mod use_places;
mod workspaces;
mod writing;
