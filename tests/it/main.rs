//! One integration binary over the real thing: embedded Postgres, the application, real processes and sockets.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod contracts;
mod documents;
mod harness;
mod loopback;
mod tidy;

mod client_setup;
mod clients;
mod deploy;
mod embedded;
mod embedding;
mod faults;
mod filters;
mod freshness;
mod indexing;
mod isolation;
mod oauth;
mod processes;
mod resources;
mod searching;
mod serving;
mod storage;
mod surfaces;
mod workflow;
