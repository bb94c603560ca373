//! Warns of filters on unknown facts: names the languages, files and repositories without the facts that a filter
//! compares.

use std::collections::BTreeMap;

use crate::search::filters::fields::{FilterField, FilterTarget};
use crate::search::request::Mode;
use contract::{Fault, Warning};
use languages::{self, Language};
use store::{Filter, LanguageCount, Reads, RepositoryRow};

/// Maximum number of languages in a message; the details list all.
const NAMED_MAX: usize = 5;

/// Warns of repositories that cannot pass a filter because they have no git history, and of code that cannot pass
/// because its facts are unknown. Considers only chunks that pass `filter` otherwise, and only facts that the code can
/// be expected to have.
///
/// # Errors
/// Storage faults.
pub(in crate::search) async fn warn(
    reads: &mut Reads,
    used: &[&'static FilterField],
    repositories: &[RepositoryRow],
    (mode, filter): (Mode, &Filter),
    warnings: &mut Vec<Warning>,
) -> Result<(), Fault> {
    without_history(used, repositories, warnings);
    if mode == Mode::Records || !used.iter().any(|field| field.target.syntax().is_some()) {
        return Ok(());
    }
    let unread: Vec<&str> =
        repositories.iter().filter(|r| r.versions.facts == 0).map(|r| r.name.as_str()).collect();
    if !unread.is_empty() {
        let message = format!(
            "The facts of {} were not extracted, so its chunks cannot pass. `build_index` extracts them unless `indexing.facts` is off.",
            unread.join(", ")
        );
        let details = Some(serde_json::json!({ "repositories": unread }));
        warnings.push(Warning { details, ..Warning::new("fact_unknown", message) });
    }
    let admitted = reads.languages(filter).await?;
    warnings.extend(missing(&admitted));
    warnings.extend(unsupported(used, &admitted));
    Ok(())
}

fn without_history(
    used: &[&'static FilterField],
    repositories: &[RepositoryRow],
    warnings: &mut Vec<Warning>,
) {
    let needs_history = |field: &&&FilterField| {
        matches!(
            field.target,
            FilterTarget::LastAuthor
                | FilterTarget::LineAuthors
                | FilterTarget::Churn
                | FilterTarget::ModifiedAfter
                | FilterTarget::ModifiedSince
        )
    };
    let without: Vec<&str> = repositories
        .iter()
        .filter(|r| r.is_readable() && (r.commit.is_none() || r.is_archive()))
        .map(|r| r.name.as_str())
        .collect();
    if !without.is_empty() {
        for field in used.iter().filter(needs_history) {
            let message =
                format!("`{}` is unknown for {}: no git history was read.", field.name, without.join(", "));
            warnings.push(Warning::new("history_unknown", message));
        }
    }
}

/// Warns of files whose facts could not be extracted.
fn missing(admitted: &[LanguageCount]) -> Option<Warning> {
    let files: i64 = admitted.iter().map(|count| count.facts_missing).sum();
    (files > 0).then(|| {
        let message = format!(
            "The facts of {files} files could not be extracted, so they cannot pass. `index_status` lists them with the reason."
        );
        let details = Some(serde_json::json!({ "files": files }));
        Warning { details, ..Warning::new("fact_unknown", message) }
    })
}

/// Warns of languages without a fact that can be expected: languages that are not parsed, or all if none of them has
/// the fact. Documents and data have no such facts, and a parsed language without the fact usually lacks the concept.
fn unsupported(used: &[&'static FilterField], admitted: &[LanguageCount]) -> Option<Warning> {
    let code: Vec<(&Language, i64)> = admitted
        .iter()
        .filter_map(|count| Some((languages::by_name(count.language.as_deref()?)?, count.chunks)))
        .filter(|(language, _)| language.is_code())
        .collect();
    let mut fields: Vec<&str> = Vec::new();
    let mut blind: BTreeMap<&str, i64> = BTreeMap::new();
    for field in used {
        let Some(syntax) = field.target.syntax() else { continue };
        let some_support = code.iter().any(|(language, _)| language.extracts(syntax));
        let mut is_blind = false;
        for (language, chunks) in &code {
            let is_known = language.extracts(syntax) || (some_support && language.has_grammar());
            if !is_known {
                blind.insert(language.id, *chunks);
                is_blind = true;
            }
        }
        if is_blind && !fields.contains(&field.name) {
            fields.push(field.name);
        }
    }
    if fields.is_empty() {
        return None;
    }
    let mut most: Vec<(&str, i64)> = blind.into_iter().collect();
    most.sort_by_key(|(language, chunks)| (std::cmp::Reverse(*chunks), *language));
    let named: Vec<String> =
        most.iter().take(NAMED_MAX).map(|(language, chunks)| format!("{language} ({chunks})")).collect();
    let more = if most.len() > NAMED_MAX { " and others" } else { "" };
    let message = format!(
        "`{}` is unknown in {}{more}; these chunks cannot pass.",
        fields.join("`, `"),
        named.join(", ")
    );
    let languages: Vec<&str> = most.iter().map(|(language, _)| *language).collect();
    let details = Some(serde_json::json!({ "fields": fields, "languages": languages }));
    Some(Warning { details, ..Warning::new("fact_unknown", message) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::filters::fields::field;

    fn count(language: &str, chunks: i64) -> LanguageCount {
        LanguageCount { language: Some(language.to_owned()), chunks, facts_missing: 0 }
    }

    fn details_of(fields: &[&str], admitted: &[LanguageCount]) -> Option<serde_json::Value> {
        let used: Vec<_> = fields.iter().map(|name| field(name).unwrap()).collect();
        unsupported(&used, admitted).and_then(|warning| warning.details)
    }

    #[test]
    fn documents_and_data_cause_no_warning() {
        let unknown = LanguageCount { language: None, chunks: 9, facts_missing: 0 };
        let admitted = [
            count("python", 10),
            count("markdown", 99),
            count("yaml", 5),
            count("json", 5),
            count("css", 3),
            count("xml", 1),
            unknown,
        ];
        assert_eq!(details_of(&["calls", "async", "throws", "lint"], &admitted), None);
        assert_eq!(details_of(&["calls"], &[count("markdown", 3)]), None);
    }

    #[test]
    fn one_warning_names_the_languages_that_are_not_parsed() {
        let admitted = [count("python", 10), count("dart", 3), count("perl", 4), count("markdown", 99)];
        let details = details_of(&["calls", "throws", "calls"], &admitted).unwrap();
        assert_eq!(
            details,
            serde_json::json!({ "fields": ["calls", "throws"], "languages": ["perl", "dart"] })
        );
        assert_eq!(details_of(&["path", "type"], &admitted), None, "these are known for all languages");
    }

    #[test]
    fn a_parsed_language_without_the_fact_is_named_only_if_no_other_has_it() {
        assert_eq!(details_of(&["async"], &[count("python", 10), count("go", 3)]), None);
        let alone = details_of(&["async"], &[count("go", 3), count("markdown", 1)]).unwrap();
        assert_eq!(alone["languages"], serde_json::json!(["go"]));
    }

    #[test]
    fn files_whose_facts_are_missing_are_counted() {
        let some = LanguageCount { facts_missing: 2, ..count("swift", 7) };
        assert!(missing(&[count("rust", 1), some]).unwrap().message.contains("2 files"));
        assert_eq!(missing(&[count("rust", 1)]), None);
    }
}
