//! What fuzzing drives: everything that reads what strangers wrote, each as one function over bytes.
//!
//! Only tests and the fuzzer in `fuzz/` have this module. A target fails by panicking: also where a property does not hold
//! that is cheap to check, such as that what is printed reads back. `cargo test` runs every target over its seeds, over the
//! committed corpus, in which each input stays that once made a target fail, and over a few thousand mutations of both.

mod edits;
mod scratch;

#[cfg(test)]
mod mutate;
#[cfg(test)]
mod short;

use crate::surfaces::fuzzing as surfaces;
use crate::tools::fuzzing as tools;
use contract::config::fuzzing as config;
use engine::indexing::fuzzing as indexing;
use engine::search::fuzzing as search;
use engine::triage::fuzzing as triage;
use history::fuzzing as history;
use languages::fuzzing as languages;
use scratch::{in_file, in_folder};
use store::portable::fuzzing as portable;
use tenancy::fuzzing as tenancy;
use upkeep::archive::fuzzing as archive;

/// One target.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, which is that of its folder in `fuzz/corpus/`.
    pub name: &'static str,
    /// Inputs to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Runs it on one input.
    pub run: fn(&[u8]),
}

const fn target(name: &'static str, seeds: fn() -> Vec<Vec<u8>>, run: fn(&[u8])) -> Target {
    Target { name, seeds, run }
}

/// Every target.
pub const TARGETS: &[Target] = &[
    target("question", search::questions, search::question),
    target("filters", search::given_filters, search::filter),
    target("arguments", tools::calls, tools::arguments),
    target("frames", surfaces::streams, surfaces::frames),
    target("uri", surfaces::uris, surfaces::uri),
    target("request", surfaces::requests, surfaces::request),
    target("token", tenancy::tokens, tenancy::token),
    target("session", tenancy::sessions, tenancy::session),
    target("config", config::files, config::file),
    target("archive", nothing, |data| in_file(&edits::apply(archive::base(), data), archive::read)),
    target("archive_bytes", || vec![archive::base().to_vec()], |data| in_file(data, archive::read)),
    target("portable", nothing, |data| in_file(&edits::apply(portable::base(), data), portable::read)),
    target("git", history::repositories, |data| in_folder(|root| history::repository(root, data))),
    target("report", triage::reports, triage::report),
    target("file", indexing::files, indexing::file),
    target("parsed", indexing::answers, indexing::parsed),
    target("redaction", indexing::secrets, indexing::redaction),
    target("front_matter", indexing::documents, indexing::metadata),
    target("ignore_rules", indexing::ignore_files, indexing::ignore_rules),
    target("risk_rules", languages::rule_files, languages::risk_rules),
    target("chunks", languages::samples, languages::chunks),
];

/// Of a target whose input edits what it makes itself: without an edit.
fn nothing() -> Vec<Vec<u8>> {
    vec![Vec::new(), vec![0, 0, 16, 1, 0xff]]
}
