//! `PairOfCleats`: semantic code search that a team runs on its own machines.
//!
//! This is the map, in reading order. A module uses only modules that stand below it here
//! (a test keeps that so); `ARCHITECTURE.md` walks through a call, an index run and a provisioning.
//!
//! | module | what it answers |
//! |---|---|
//! | `fuzzing` | of tests: what a fuzzer drives, each as one function over bytes |
//! | [`surfaces`] | how clients reach us: CLI, MCP, HTTP. Decode, call, encode |
//! | [`mod@bench`] | how well and how fast: questions with known answers, and the clock |
//! | [`tools`] | what clients can do: one list, one entry and one file an operation |
//! | [`app`] | what is built once, and its start and stop |
//! | [`upkeep`] | runtime assets, word lists, extensions; room on disk, the end and the moving of a project |
//! | [`triage`] | security findings to records that search finds; decisions; what is known of a finding |
//! | [`indexing`] | files to rows: walk, plan, chunk, embed, write |
//! | [`search`] | a question to ranked chunks: parse, retrieve, fuse, rank, present |
//! | [`jobs`] | the Postgres queue: lease, heartbeat, fence, cancel |
//! | [`languages`] | what a file says: detection, chunking along syntax, terms |
//! | [`history`] | what a git repository knows of files and lines: authors, dates, churn |
//! | [`tenancy`] | whose data: project id to a workspace that exists |
//! | [`store`] | all SQL |
//! | [`postgres`] | where Postgres comes from: embedded or external, pools, migrations |
//! | [`embedding`] | text to vectors |
//! | [`outbound`], [`telemetry`] | calls that leave the process; logs on stderr |
//! | [`process`], [`room`] | child processes, each with everything that it starts itself; free room on disk |
//! | [`contract`], [`config`], [`clock`], [`beneath`] | what we promise; what the operator chose; time as a parameter; files of others |

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

pub mod surfaces;

pub mod bench;

pub mod tools;

pub mod app;

pub mod triage;
pub mod upkeep;

pub mod indexing;
pub mod search;

pub mod history;
pub mod jobs;
pub mod languages;

pub mod tenancy;

pub mod store;

pub mod embedding;
pub mod outbound;
pub mod postgres;
pub mod telemetry;

pub mod failpoints;
pub mod process;
pub mod room;

pub mod beneath;
pub mod clock;
pub mod config;
pub mod contract;
