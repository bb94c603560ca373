//! The fuzz targets: every reader of untrusted input, each as a function over bytes.
//!
//! Compiled only for tests and for the fuzzer in `fuzz/`. A target fails by panicking; it also checks cheap properties, such as
//! that printed output parses again. `cargo test` runs every target on its seeds, on the committed corpus, which contains every
//! input that ever made a target fail, and on a thousand mutations of both.
#![cfg(any(test, feature = "fuzzing"))]

mod edits;
mod scratch;

#[cfg(test)]
mod mutate;
#[cfg(test)]
mod short;

use contract::config::fuzzing as config;
use engine::indexing::fuzzing as indexing;
use engine::search::fuzzing as search;
use gate::tools::fuzzing as tools;
use history::fuzzing as history;
use languages::fuzzing as languages;
use navigation::scip::fuzzing as scip;
use scratch::{in_file, in_folder};
use store::portable::fuzzing as portable;
use surfaces::http::fuzzing as http;
use surfaces::mcp::fuzzing as mcp;
use surfaces::module::Modules;
use surfaces::modules::{ADMINISTRATION, SEARCH};
use tenancy::fuzzing as tenancy;
use triage::findings::fuzzing as findings;
use upkeep::archive::fuzzing as archive;
use upkeep::install::fuzzing as install;

/// The modules whose tools have arguments.
static MODULES: Modules = Modules::new(&[
    &SEARCH,
    &triage::MODULE,
    &ADMINISTRATION,
    &instruction_catalog::MODULE,
    &launch_runs::MODULE,
]);

/// A fuzz target.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, and that of its folder in `fuzz/corpus/`.
    pub name: &'static str,
    /// The seed corpus.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Runs the target on one input.
    pub run: fn(&[u8]),
}

const fn target(name: &'static str, seeds: fn() -> Vec<Vec<u8>>, run: fn(&[u8])) -> Target {
    Target { name, seeds, run }
}

/// Every target.
pub const TARGETS: &[Target] = &[
    target("question", search::query_seeds, search::query),
    target("filters", search::filter_seeds, search::filter),
    target(
        "arguments",
        || tools::call_seeds(MODULES.gate()),
        |data| {
            tools::fuzz_arguments(MODULES.gate(), data);
        },
    ),
    target("frames", mcp::streams, mcp::frames),
    target("uri", mcp::uris, mcp::uri),
    target("request", http::seed_requests, http::fuzz_request),
    target("token", tenancy::token_seeds, tenancy::fuzz_token),
    target("session", tenancy::session_seeds, tenancy::fuzz_session),
    target("config", config::files, config::file),
    target("archive", edit_seeds, |data| in_file(&edits::apply_edits(archive::base(), data), archive::read)),
    target("archive_bytes", || vec![archive::base().to_vec()], |data| in_file(data, archive::read)),
    target("portable", edit_seeds, |data| {
        in_file(&edits::apply_edits(portable::base(), data), portable::read)
    }),
    target("git", history::repository_seeds, |data| in_folder(|root| history::fuzz_repository(root, data))),
    target("report", findings::report_seeds, findings::fuzz_report),
    target("file", indexing::files, indexing::file),
    target("parsed", indexing::answers, indexing::parsed),
    target("redaction", indexing::secrets, indexing::redaction),
    target("front_matter", indexing::documents, indexing::metadata),
    target("ignore_rules", indexing::ignore_files, indexing::ignore_rules),
    target("risk_rules", languages::rule_files, languages::risk_rules),
    target("scip", scip::scip_seeds, scip::fuzz_scip),
    target("chunks", languages::samples, languages::chunks),
    target("package_page", install::pages, install::page),
    target("package_settings", install::package_settings, install::read_package_settings),
];

/// Seeds of targets whose input is a list of edits: no edit, and one edit.
fn edit_seeds() -> Vec<Vec<u8>> {
    vec![Vec::new(), vec![0, 0, 16, 1, 0xff]]
}
