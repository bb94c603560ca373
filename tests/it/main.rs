//! One integration binary over the real thing: embedded Postgres, the application, real processes and sockets.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod contracts;
mod documents;
mod effects;
mod file_server;
mod harness;
mod kills;
mod loopback;
mod tidy;

mod agents;
mod artifacts;
mod bench;
mod client_setup;
mod clients;
mod confidence;
mod cost;
mod definitions;
mod deploy;
mod downloads;
mod embedded;
mod embedding;
mod faults;
mod filters;
mod freshness;
mod indexing;
mod isolation;
mod models;
mod newcomer;
mod oauth;
mod portable;
mod processes;
mod quickstart;
mod ranking;
mod reading_anew;
mod resources;
mod scale;
mod searching;
mod serving;
mod standing;
mod status;
mod storage;
mod surfaces;
mod triage;
mod upkeep;
mod workflow;
