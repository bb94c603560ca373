//! Names of the index that are spelt like words of a query that no chunk says.

use std::collections::{BTreeMap, HashSet};

use super::confidence::Confidence;
use super::plan::{LexicalPlan, Plan};
use super::request::SearchRequest;
use super::scope::Scope;
use contract::Fault;
use languages::facts::Field;
use languages::terms::{parts, squash};
use store::{Reads, fact_id};

/// Words of a query whose spelling is looked up, longest first.
const WORDS_MAX: usize = 3;
/// Shorter words have neighbours everywhere.
const WORD_CHARS_MIN: usize = 4;
/// Names that are compared with a word.
const NAMES_MAX: i64 = 20_000;
/// Names that are proposed.
const PROPOSED_MAX: usize = 5;
/// Damerau-Levenshtein similarity from which a name is near: one letter of four, two of eight.
const SIMILARITY_MIN: f64 = 0.75;

/// Fields whose values are names of the code.
const NAMES: &[Field] = &[
    Field::Caller,
    Field::Call,
    Field::Export,
    Field::Param,
    Field::Type,
    Field::Read,
    Field::Write,
    Field::Use,
];

/// Nearest names of which it is looked up whether the repositories that are asked have them: a name that nothing has any more
/// stays in the project until it is cleaned up.
const NEAREST_MAX: usize = 40;

/// Names that the repositories that were asked have, where the answer is doubtful; never one that was asked itself.
pub(super) async fn proposed(
    reads: &mut Reads,
    request: &SearchRequest,
    scope: &Scope,
    plan: &Plan,
    confidence: Option<Confidence>,
) -> Result<Vec<String>, Fault> {
    if !matches!(confidence, Some(Confidence::None | Confidence::Low)) {
        return Ok(Vec::new());
    }
    let repositories: Vec<i64> = scope.repositories.iter().map(|repository| repository.id).collect();
    let said = Said::of(&request.query);
    nearest_names(reads, &plan.lexical, &repositories, &said).await
}

/// What a query says, in the form in which names are compared: all of it, and each word.
struct Said(HashSet<String>);

impl Said {
    fn of(query: &str) -> Self {
        let words = query.split_whitespace().chain(std::iter::once(query));
        Self(words.map(squash).collect())
    }

    fn says(&self, name: &str) -> bool {
        self.0.contains(&squash(name))
    }
}

/// Up to five names that some repositories have, nearest first, spelt like words of the query that no chunk says.
async fn nearest_names(
    reads: &mut Reads,
    plan: &LexicalPlan,
    repositories: &[i64],
    said: &Said,
) -> Result<Vec<String>, Fault> {
    let mut unknown: Vec<&str> = plan
        .terms
        .iter()
        .filter(|term| term.chunks == 0 && !term.term.contains([' ', ':']))
        .map(|term| term.term.as_str())
        .filter(|word| word.chars().count() >= WORD_CHARS_MIN)
        .collect();
    unknown.sort_by_key(|word| (std::cmp::Reverse(word.len()), *word));
    unknown.truncate(WORDS_MAX);
    let fields: Vec<i16> = NAMES.iter().map(|field| *field as i16).collect();
    let mut proposed: BTreeMap<String, f64> = BTreeMap::new();
    for word in unknown {
        // A name may have one letter in four more or fewer, and underscores.
        let length = i32::try_from(word.chars().count()).unwrap_or(i32::MAX);
        let slack = length / 4 + 1;
        let names = reads.names_of_length(&fields, (length - slack, length + slack + 3), NAMES_MAX).await?;
        for name in names {
            let nearness = likeness(word, &name);
            if nearness >= SIMILARITY_MIN && !said.says(&name) {
                let known = proposed.entry(name).or_default();
                *known = known.max(nearness);
            }
        }
    }
    let mut proposed: Vec<(String, f64)> = proposed.into_iter().collect();
    proposed.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let mut names: Vec<String> = proposed.into_iter().take(NEAREST_MAX).map(|(name, _)| name).collect();
    let ids_of = |name: &String| -> Vec<i64> { fields.iter().map(|field| fact_id(*field, name)).collect() };
    let ids: Vec<i64> = names.iter().flat_map(ids_of).collect();
    if ids.is_empty() {
        return Ok(names);
    }
    let held = reads.held_within(&ids, repositories).await?;
    names.retain(|name| ids_of(name).iter().any(|id| held.contains(id)));
    names.truncate(PROPOSED_MAX);
    Ok(names)
}

/// How alike a word and a name are, 0 to 1: the whole name, or a part of it.
fn likeness(word: &str, name: &str) -> f64 {
    let whole = strsim::normalized_damerau_levenshtein(word, &squash(name));
    let part = |part: String| 0.98 * strsim::normalized_damerau_levenshtein(word, &part);
    parts(name).into_iter().map(part).fold(whole, f64::max)
}

#[cfg(test)]
mod tests {
    use super::{Said, likeness};

    #[test]
    fn what_was_asked_is_known_in_every_spelling() {
        let said = Said::of("where is Fetch-Zebra rates");
        assert!(said.says("fetch_zebra") && said.says("FetchZebra") && !said.says("fetch_zebras"));
        assert!(Said::of("fetch zebra rates").says("fetch_zebra_rates"));
    }

    #[test]
    fn a_slip_of_the_pen_is_near_and_another_word_is_not() {
        assert!(likeness("blueprnt", "Blueprint") > 0.8);
        assert!(likeness("fulldispachrequest", "full_dispatch_request") > 0.9);
        assert!(likeness("dispach", "full_dispatch_request") > 0.8);
        assert!(likeness("session", "request") < 0.5);
    }
}
