//! What shapes rows beside a file's text: versions of this program's parts, rules, word lists, settings. What was read under
//! others is read anew.

use super::risk::Rules;
use super::run::Run;
use super::secrets::REDACTION_VERSION;
use contract::config;
use languages::{CHUNKER_VERSION, facts::FACTS_VERSION, terms::TERMS_VERSION};
use store::Versions;

/// What turns text into rows in this build.
pub(super) fn versions(run: &Run<'_>, rules: &Rules) -> Versions {
    Versions {
        chunker: CHUNKER_VERSION,
        terms: TERMS_VERSION,
        facts: if run.config.indexing.facts { FACTS_VERSION } else { 0 },
        rules: rules.as_ref().map_or([0; 32], |rules| rules.fingerprint()),
        dictionary: run.dictionary.as_ref().map_or([0; 32], |dictionary| dictionary.fingerprint()),
        settings: shaping(&run.config.indexing),
    }
}

/// Fingerprint of the settings that shape rows. A repository that was read under others is read anew, so that a raised limit
/// or redaction that was turned on reaches what is stored.
fn shaping(settings: &config::Indexing) -> [u8; 32] {
    let redaction = if settings.redact_secrets { REDACTION_VERSION } else { 0 };
    let shaped_by = (
        (settings.file_bytes_max, settings.line_bytes_mean_max),
        (settings.chunk_chars_target, settings.chunk_chars_max, settings.chunks_per_file_max),
        (settings.history, settings.churn_commits),
        settings.parse_memory_bytes,
        redaction,
    );
    *blake3::hash(format!("{shaped_by:?}").as_bytes()).as_bytes()
}
