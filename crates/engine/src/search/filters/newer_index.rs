//! Warns of data that a newer version of the program wrote: this version reads it, but may misunderstand it.

use contract::Warning;
use languages::CHUNKER_VERSION;
use languages::facts::FACTS_VERSION;
use languages::terms::TERMS_VERSION;
use store::RepositoryRow;

/// Returns the warning that a newer program wrote `what`, the subject of the sentence.
#[must_use]
pub fn newer_index(what: &str) -> Warning {
    let message = format!(
        "{what} was written by a newer version of this program. This one may miss or misread some of it: upgrade this installation."
    );
    Warning::new("index_newer", message)
}

/// Warns of repositories whose rows a newer program wrote, if there are any.
pub(crate) fn warn_of_newer<'a>(repositories: impl Iterator<Item = &'a RepositoryRow>) -> Option<Warning> {
    let is_newer = |row: &&RepositoryRow| {
        let versions = &row.versions;
        versions.chunker > CHUNKER_VERSION || versions.terms > TERMS_VERSION || versions.facts > FACTS_VERSION
    };
    let newer: Vec<&str> = repositories.filter(is_newer).map(|row| row.name.as_str()).collect();
    let details = serde_json::json!({ "repositories": newer });
    (!newer.is_empty()).then(|| Warning {
        details: Some(details),
        ..newer_index(&format!("The index of {}", newer.join(", ")))
    })
}
