//! The versions that determine rows besides a file's text: of program parts, rules, dictionary and settings. Files that were indexed with
//! other versions are read again.

use super::context::RunContext;
use super::risk::RiskRules;
use super::secrets::REDACTION_VERSION;
use contract::config;
use documents::EXTRACTION_VERSION;
use languages::{CHUNKER_VERSION, facts::FACTS_VERSION, terms::TERMS_VERSION};
use store::Versions;

/// Returns the versions of this run.
pub(super) fn run_versions(run: &RunContext<'_>, rules: &RiskRules) -> Versions {
    Versions {
        chunker: CHUNKER_VERSION,
        terms: TERMS_VERSION,
        facts: if run.config.indexing.facts { FACTS_VERSION } else { 0 },
        rules: rules.as_ref().map_or([0; 32], |rules| rules.fingerprint()),
        dictionary: run.dictionary.as_ref().map_or([0; 32], |dictionary| dictionary.fingerprint()),
        settings: settings_fingerprint(&run.config.indexing),
    }
}

/// Returns the fingerprint of the settings that affect rows, so that for example a raised limit or enabled redaction
/// also applies to stored files.
fn settings_fingerprint(settings: &config::Indexing) -> [u8; 32] {
    let redaction = if settings.redact_secrets { REDACTION_VERSION } else { 0 };
    let relevant = (
        (settings.file_bytes_max, settings.line_bytes_mean_max),
        (settings.chunk_chars_target, settings.chunk_chars_max, settings.chunks_per_file_max),
        (settings.history, settings.churn_commits),
        settings.parse_memory_bytes,
        (settings.symbols_bytes_max, settings.interfaces_bytes_max),
        (settings.document_bytes_max, EXTRACTION_VERSION),
        redaction,
    );
    *blake3::hash(format!("{relevant:?}").as_bytes()).as_bytes()
}
