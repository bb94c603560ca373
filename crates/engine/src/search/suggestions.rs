//! Suggests names of the index that are spelled like unknown words of a query.

use std::collections::{BTreeMap, HashSet};

use super::confidence::Confidence;
use super::plan::WeightedTerm;
use super::request::SearchRequest;
use super::scope::ResolvedScope;
use contract::Fault;
use languages::facts::Field;
use languages::terms::{parts, squash};
use store::{Reads, fact_id};

/// The most unknown words of a query that are corrected, longest first.
const WORDS_MAX: usize = 3;
/// Shortest word that is corrected, in characters; shorter words are similar to too many names.
const WORD_CHARS_MIN: usize = 4;
/// The most names that are compared with a word. A name does not know its repositories, so those of neighbours count: enough for
/// a large project.
const NAMES_MAX: i64 = 100_000;
/// The most suggestions.
const SUGGESTIONS_MAX: usize = 5;
/// Smallest Damerau-Levenshtein similarity of a suggestion: one error in four letters, two in eight.
const SIMILARITY_MIN: f64 = 0.75;

/// Fields whose values are identifiers.
const IDENTIFIER_FIELDS: &[Field] = &[
    Field::Caller,
    Field::Call,
    Field::Export,
    Field::Param,
    Field::Type,
    Field::Read,
    Field::Write,
    Field::Use,
];

/// How many similar names are checked at a time for occurrence in the searched repositories; other names are those of neighbours,
/// or unused ones, which stay in the project until garbage collection.
const CHECKED_AT_ONCE: usize = 40;
/// The most similar names that are checked.
const CHECKED_MAX: usize = 1_000;

/// Returns names that are similar to words of the query and occur in the searched repositories, if the confidence is
/// low or none. Names in the query are excluded.
pub(super) async fn suggest_names(
    reads: &mut Reads,
    request: &SearchRequest,
    scope: &ResolvedScope,
    terms: &[WeightedTerm],
    confidence: Option<Confidence>,
) -> Result<Vec<String>, Fault> {
    if !matches!(confidence, Some(Confidence::None | Confidence::Low)) {
        return Ok(Vec::new());
    }
    let repositories: Vec<i64> = scope.repositories.iter().map(|repository| repository.id).collect();
    let forms = QueryForms::new(&request.query);
    nearest_names(reads, terms, &repositories, &forms).await
}

/// The query and each of its words, squashed.
struct QueryForms(HashSet<String>);

impl QueryForms {
    fn new(query: &str) -> Self {
        let words = query.split_whitespace().chain(std::iter::once(query));
        Self(words.map(squash).collect())
    }

    fn contains(&self, name: &str) -> bool {
        self.0.contains(&squash(name))
    }
}

/// Returns names that occur in `repositories` and are similar to query terms with document frequency 0, most similar
/// first.
async fn nearest_names(
    reads: &mut Reads,
    terms: &[WeightedTerm],
    repositories: &[i64],
    forms: &QueryForms,
) -> Result<Vec<String>, Fault> {
    let mut unknown: Vec<&str> = terms
        .iter()
        .filter(|term| term.chunks == 0 && !term.term.contains([' ', ':']))
        .map(|term| term.term.as_str())
        .filter(|word| word.chars().count() >= WORD_CHARS_MIN)
        .collect();
    unknown.sort_by_key(|word| (std::cmp::Reverse(word.len()), *word));
    unknown.truncate(WORDS_MAX);
    let fields: Vec<i16> = IDENTIFIER_FIELDS.iter().map(|field| *field as i16).collect();
    let mut suggested: BTreeMap<String, f64> = BTreeMap::new();
    for word in unknown {
        // A name may be a quarter longer or shorter, and contain underscores.
        let length = i32::try_from(word.chars().count()).unwrap_or(i32::MAX);
        let slack = length / 4 + 1;
        let names = reads.names_of_length(&fields, (length - slack, length + slack + 3), NAMES_MAX).await?;
        for name in names {
            let score = similarity(word, &name);
            if score >= SIMILARITY_MIN && !forms.contains(&name) {
                let known = suggested.entry(name).or_default();
                *known = known.max(score);
            }
        }
    }
    let mut suggested: Vec<(String, f64)> = suggested.into_iter().collect();
    suggested.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let nearest: Vec<String> = suggested.into_iter().take(CHECKED_MAX).map(|(name, _)| name).collect();
    let ids_of = |name: &String| -> Vec<i64> { fields.iter().map(|field| fact_id(*field, name)).collect() };
    let mut names: Vec<String> = Vec::new();
    for some in nearest.chunks(CHECKED_AT_ONCE) {
        let ids: Vec<i64> = some.iter().flat_map(ids_of).collect();
        let used = reads.used_in_repositories(&ids, repositories).await?;
        names.extend(some.iter().filter(|name| ids_of(name).iter().any(|id| used.contains(id))).cloned());
        if names.len() >= SUGGESTIONS_MAX {
            break;
        }
    }
    names.truncate(SUGGESTIONS_MAX);
    Ok(names)
}

/// Returns the similarity of a word to a name or to the most similar part of the name, 0 to 1.
pub(crate) fn similarity(word: &str, name: &str) -> f64 {
    let whole = strsim::normalized_damerau_levenshtein(word, &squash(name));
    let part = |part: String| 0.98 * strsim::normalized_damerau_levenshtein(word, &part);
    parts(name).into_iter().map(part).fold(whole, f64::max)
}

#[cfg(test)]
mod tests {
    use super::{QueryForms, similarity};

    #[test]
    fn names_in_the_query_are_recognised_in_every_spelling() {
        let forms = QueryForms::new("where is Fetch-Zebra rates");
        assert!(
            forms.contains("fetch_zebra") && forms.contains("FetchZebra") && !forms.contains("fetch_zebras")
        );
        assert!(QueryForms::new("fetch zebra rates").contains("fetch_zebra_rates"));
    }

    #[test]
    fn misspelled_names_are_similar_and_other_words_are_not() {
        assert!(similarity("blueprnt", "Blueprint") > 0.8);
        assert!(similarity("fulldispachrequest", "full_dispatch_request") > 0.9);
        assert!(similarity("dispach", "full_dispatch_request") > 0.8);
        assert!(similarity("session", "request") < 0.5);
    }
}
