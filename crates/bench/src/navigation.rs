//! Accuracy of navigation: its answers about a repository's calls, compared with the SCIP file of a compiler's indexer.
//!
//! A site is a place where SCIP knows the name that is called. An edge is judged if it begins at one, and is right if SCIP names the
//! same definition, another overload of it, or what it implements. Recall counts sites whose callee is a function, a method
//! or a type of the repository. Without a SCIP file, sites and edges can be drawn by lot and judged by hand.

mod judge;
mod oracle;
mod sample;
mod tree;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use contract::Fault;

/// Options of `bench navigation`.
#[derive(Debug, Clone)]
pub struct Options {
    /// Folder with the repository, which is only read.
    pub repository: PathBuf,
    /// SCIP file of it.
    pub scip: Option<PathBuf>,
    /// Leave out tests.
    pub without_tests: bool,
    /// Number of edges and call sites to draw by lot.
    pub sample: usize,
    /// Number from which the lot is drawn.
    pub seed: u64,
    /// List everything that is wrong or missing.
    pub details: bool,
}

/// The figures.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Files with symbols, and their bytes.
    pub files: usize,
    /// Bytes of these files.
    pub bytes: usize,
    /// Chunks of these files.
    pub chunks: usize,
    /// Bytes of their symbols, as they are sent and stored.
    pub symbol_bytes: usize,
    /// References that were resolved.
    pub resolved: usize,
    /// References that have only a name.
    pub named: usize,
    /// Milliseconds of parsing and facts, with the symbols.
    pub parse_ms: u64,
    /// Milliseconds of resolving all files.
    pub resolve_ms: u64,
    /// The comparison with the SCIP file.
    pub judged: Option<Judged>,
    /// Edges and sites drawn by lot, as lines to read.
    pub drawn: Vec<String>,
}

/// The result of a comparison with a SCIP file.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Judged {
    /// Edges from call sites that SCIP knows.
    pub edges: usize,
    /// Those of them that are right.
    pub right: usize,
    /// Sites whose callee is in the repository: functions, methods and types.
    pub sites: usize,
    /// Those of them that were found.
    pub found: usize,
    /// The same for functions and methods only.
    pub function_sites: usize,
    /// Those of them that were found.
    pub functions_found: usize,
    /// By the form of the call: edges, right ones, sites, found ones.
    pub forms: BTreeMap<&'static str, [usize; 4]>,
    /// Wrong and missing edges, if they were requested.
    pub details: Vec<String>,
}

/// Measures a repository.
///
/// # Errors
/// A file cannot be read, or the SCIP file is broken.
pub fn measure(options: &Options, clock: &dyn Fn() -> u64) -> Result<Report, Fault> {
    let begin = clock();
    let sources = tree::read(&options.repository, options.without_tests)?;
    let parsed = clock();
    let resolved = sources.resolve();
    let done = clock();
    let references = resolved.iter().flatten();
    let (with, without): (Vec<_>, Vec<_>) = references.partition(|reference| !reference.targets.is_empty());
    let judged = match &options.scip {
        Some(path) => {
            let oracle = oracle::read(path, &sources)?;
            Some(judge::judge(&sources, &resolved, &oracle, options.details))
        }
        None => None,
    };
    Ok(Report {
        files: sources.files.len(),
        bytes: sources.files.iter().map(|file| file.text.len()).sum(),
        chunks: sources.files.iter().map(|file| file.chunks).sum(),
        symbol_bytes: sources.files.iter().map(|file| file.symbol_bytes).sum(),
        resolved: with.len(),
        named: without.len(),
        parse_ms: parsed.saturating_sub(begin),
        resolve_ms: done.saturating_sub(parsed),
        judged,
        drawn: sample::draw(&sources, &resolved, options.sample, options.seed),
    })
}
