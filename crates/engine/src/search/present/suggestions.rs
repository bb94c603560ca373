//! Suggests names of the index that are spelled like unknown words of a query.

use std::collections::{BTreeMap, HashSet};
use std::ops::RangeInclusive;

use crate::search::filters::scope::ResolvedScope;
use crate::search::rank::confidence::Confidence;
use crate::search::request::SearchRequest;
use crate::search::retrieve::plan::WeightedTerm;
use contract::Fault;
use languages::facts::Field;
use languages::terms::{parts, squash};
use store::{Reads, fact_id};

/// Maximum number of unknown words of a query that are corrected, longest first.
const WORDS_MAX: usize = 3;
/// Lengths of words that are corrected, in characters: shorter words are similar to too many names, longer ones to none.
const WORD_CHARS: RangeInclusive<usize> = 4..=100;
/// Maximum number of names that are compared with a word. A name does not know its repositories, so those of neighbours count: enough for a
/// large project.
const NAMES_MAX: i64 = 100_000;
/// Maximum number of suggestions.
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

/// Number of similar names that are checked at a time for occurrence in the searched repositories; other names are those of neighbours, or
/// unused ones, which stay in the project until garbage collection.
const CHECKED_AT_ONCE: usize = 40;
/// Maximum number of similar names that are checked.
const CHECKED_MAX: usize = 1_000;

/// Returns names that are similar to words of the query and occur in the searched repositories, if the confidence is
/// low or none. Names in the query are excluded.
pub(in crate::search) async fn suggest_names(
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
        .filter(|word| WORD_CHARS.contains(&word.chars().count()))
        .collect();
    unknown.sort_by_key(|word| (std::cmp::Reverse(word.len()), *word));
    unknown.truncate(WORDS_MAX);
    if unknown.is_empty() {
        return Ok(Vec::new());
    }
    let fields: Vec<i16> = IDENTIFIER_FIELDS.iter().map(|field| *field as i16).collect();
    // All words together, because each reading passes over all names.
    let mut lengths: Vec<i32> = unknown.iter().flat_map(|word| similar_lengths(word)).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let mut suggested: BTreeMap<String, f64> = BTreeMap::new();
    for name in reads.names_of_lengths(&fields, &lengths, NAMES_MAX).await? {
        let score = unknown.iter().filter_map(|word| similarity(word, &name)).reduce(f64::max);
        if let Some(score) = score.filter(|_| !forms.contains(&name)) {
            suggested.insert(name, score);
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

/// Returns the lengths that similar names have, in characters: they may be a quarter longer or shorter, and contain underscores.
fn similar_lengths(word: &str) -> RangeInclusive<i32> {
    let length = i32::try_from(word.chars().count()).unwrap_or_default();
    let slack = length / 4 + 1;
    length - slack..=length + slack + 3
}

/// Returns the similarity of a word to a name or to the most similar part of the name, 0 to 1; `None` if it is less than
/// [`SIMILARITY_MIN`].
pub(crate) fn similarity(word: &str, name: &str) -> Option<f64> {
    if lacks_letters(word, name) {
        return None;
    }
    let whole = strsim::normalized_damerau_levenshtein(word, &squash(name));
    let part = |part: String| 0.98 * strsim::normalized_damerau_levenshtein(word, &part);
    let score = parts(name).into_iter().map(part).fold(whole, f64::max);
    (score >= SIMILARITY_MIN).then_some(score)
}

/// Returns whether a name has so few letters of a word that no part of it is similar. Counting is a hundred times faster than the
/// comparison, and most names of an index differ in their letters.
fn lacks_letters(word: &str, name: &str) -> bool {
    if !word.is_ascii() || !name.is_ascii() {
        return false;
    }
    let mut counts = [0_i32; 128];
    for byte in name.bytes() {
        counts[usize::from(byte.to_ascii_lowercase())] += 1;
    }
    let mut missing = 0;
    for byte in word.bytes().filter(u8::is_ascii_alphanumeric) {
        let count = &mut counts[usize::from(byte.to_ascii_lowercase())];
        *count -= 1;
        missing += usize::from(*count < 0);
    }
    // Each letter that is missing is an error, and of a text that is at most a third longer than the word, a quarter may be errors.
    missing > word.len() / 3
}

#[cfg(test)]
mod tests {
    use super::{QueryForms, lacks_letters, similarity};

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
        let more_than = |least: f64, word, name| similarity(word, name).is_some_and(|score| score > least);
        assert!(more_than(0.8, "blueprnt", "Blueprint"));
        assert!(more_than(0.9, "fulldispachrequest", "full_dispatch_request"));
        assert!(more_than(0.8, "dispach", "full_dispatch_request"));
        assert_eq!(similarity("session", "request"), None);
    }

    #[test]
    fn only_names_that_are_not_similar_lack_letters() {
        let mut dice = 1_u64;
        let mut letter = |letters: u64| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b'a' + u8::try_from((dice >> 33) % letters).unwrap())
        };
        let (mut lacking, mut similar) = (0, 0);
        for round in 0..20_000 {
            let word: String = (0..4 + round % 9).map(|_| letter(4)).collect();
            // Every other name is the word with some letters changed.
            let mut name: Vec<char> = word.chars().collect();
            if round % 2 == 0 {
                name = (0..3 + round % 11).map(|_| letter(5)).collect();
            }
            for at in 0..round % 3 {
                name[at % 3] = letter(5);
            }
            let name: String = name.into_iter().collect();
            let score = strsim::normalized_damerau_levenshtein(&word, &name);
            let lacks = lacks_letters(&word, &name);
            assert!(!lacks || score < super::SIMILARITY_MIN, "{word} {name} {score}");
            lacking += usize::from(lacks);
            similar += usize::from(score >= super::SIMILARITY_MIN);
        }
        assert!(lacking > 1_000 && similar > 1_000, "{lacking} {similar}");
    }
}
