//! Searches for the literal text of a query if the measurements do not trust the answer: chunks and paths that contain the text are found,
//! and the answer reports that. A trusted answer stays as it is.

use std::sync::Arc;
use std::time::Duration;

use crate::search::exact::{Matcher, Pattern};
use crate::search::execute::SearchDeps;
use crate::search::filters::scope::ResolvedScope;
use crate::search::query::{FilterClause, SearchQuery};
use crate::search::rank::confidence::MEASURED_HITS;
use crate::search::rank::duplicates::text_hash;
use crate::search::rank::ranked::RankedCandidates;
use crate::search::rank::scores::{RankedChunk, ScoreParts};
use contract::Fault;
use languages::terms::{is_stop_word, words};
use store::{ChunkSelection, Reads};

/// Longest text that is searched for, in bytes.
const TEXT_BYTES_MAX: usize = 1_000;
/// A shorter text of letters has to be a word: as a part of other words it would be found everywhere.
const FRAGMENT_CHARS_MIN: usize = 4;
/// Maximum number of chunks whose trigrams are looked up before their files are read one by one.
const CANDIDATES_MAX: usize = 5_000;
/// Time limit of the search.
const TIME: Duration = Duration::from_millis(300);
/// Maximum number of chunks with the text that are found; the best of them lead.
const FOUND_MAX: usize = 200;
/// Maximum number of chunks that are put before all others.
const LEADING_MAX: usize = 10;
/// Marks around a text that may not belong to it.
const MARKS: [char; 9] = ['`', '"', '\'', '?', '!', ';', ',', '.', ':'];

/// Returns whether the text of the query occurs verbatim among the hits of `ranked` that are measured. If it occurs only elsewhere, puts
/// chunks with it before the others.
///
/// # Errors
/// Storage faults.
pub(in crate::search) async fn lead_with_text(
    reads: &mut Reads,
    scope: &ResolvedScope,
    query: &SearchQuery,
    ranked: &mut RankedCandidates,
    deps: SearchDeps<'_>,
) -> Result<bool, Fault> {
    if query.text.is_empty() {
        return Ok(!ranked.chunks.is_empty() && query.filter.as_ref().is_some_and(demands_text));
    }
    // If only comments are searched, code that has the text is not an answer.
    let Some(selection) = &scope.selected.chunks else { return Ok(false) };
    let first: Vec<i64> = ranked.chunks.iter().take(MEASURED_HITS).map(|chunk| chunk.chunk_id).collect();
    let first = reads.details(&first).await?;
    let all: Vec<i64> = ranked.chunks.iter().map(|chunk| chunk.chunk_id).collect();
    let places = reads.places(&all).await?;
    for text in texts(&query.text) {
        let Some(pattern) = pattern(&text).map(Arc::new) else { continue };
        if first.iter().any(|hit| pattern.is_in(&hit.content) || pattern.is_in(&hit.chunk.path)) {
            return Ok(true);
        }
        let mut found = with_text(reads, selection, &pattern, deps).await?;
        let in_path = places.iter().filter(|place| pattern.is_in(&place.path));
        found.extend(in_path.map(|place| place.chunk_id));
        if !found.is_empty() {
            lead(reads, ranked, &found, deps).await?;
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether all chunks that pass a filter contain a text of the query.
fn demands_text(filter: &FilterClause) -> bool {
    match filter {
        FilterClause::Word(_) | FilterClause::Phrase(_) => true,
        FilterClause::All(all) => all.iter().any(demands_text),
        FilterClause::Any(any) => any.iter().all(demands_text),
        FilterClause::Not(_) | FilterClause::Field { .. } => false,
    }
}

/// Returns the texts that a query may mean, the whole one first: without the marks around it, and its only word that is not a stop word.
fn texts(query: &str) -> Vec<String> {
    let whole = query.trim();
    let mut texts = vec![whole.to_owned()];
    let content: Vec<&str> = words(whole).map(|word| word.text).filter(|word| !is_stop_word(word)).collect();
    let only = if let [word] = content.as_slice() { *word } else { "" };
    for text in [whole.trim_matches(MARKS), only] {
        if !text.trim().is_empty() && !texts.iter().any(|known| known == text) {
            texts.push(text.trim().to_owned());
        }
    }
    texts
}

/// Compiles a text; whitespace is folded, and case ignored. `None` for a text that is not searched for.
fn pattern(text: &str) -> Option<Pattern> {
    if text.is_empty() || text.len() > TEXT_BYTES_MAX {
        return None;
    }
    let words: Vec<String> = text.split_whitespace().map(regex_syntax::escape).collect();
    let is_fragment = text.chars().count() < FRAGMENT_CHARS_MIN;
    let border = |c: Option<char>| {
        let is_border = is_fragment && c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
        if is_border { "\\b" } else { "" }
    };
    let (start, end) = (border(text.chars().next()), border(text.chars().next_back()));
    // Without a class of line ends, a text of one word is matched within lines, which is faster.
    Pattern::regex(&format!("{start}{}{end}", words.join("[\\s\\n]+")), false).ok()
}

/// Returns the selected chunks that contain the text, by path.
async fn with_text(
    reads: &mut Reads,
    selection: &ChunkSelection,
    pattern: &Arc<Pattern>,
    deps: SearchDeps<'_>,
) -> Result<Vec<i64>, Fault> {
    let matcher = Matcher::new(Arc::clone(pattern), deps.clock, TIME);
    let ordered = matcher.candidates(reads, selection, CANDIDATES_MAX).await?;
    let mut found = Vec::new();
    matcher
        .run(reads, selection, &ordered, |page, _| {
            found.extend(page.iter().map(|chunk| chunk.text.id));
            found.len() < FOUND_MAX
        })
        .await?;
    Ok(found)
}

/// Puts some of the found chunks before all others: those that were ranked, in their order, then others.
async fn lead(
    reads: &mut Reads,
    ranked: &mut RankedCandidates,
    found: &[i64],
    deps: SearchDeps<'_>,
) -> Result<(), Fault> {
    let is_found = |chunk: &RankedChunk| found.contains(&chunk.chunk_id);
    let mut leading: Vec<RankedChunk> =
        ranked.chunks.iter().filter(|chunk| is_found(chunk)).cloned().collect();
    let mut new: Vec<i64> = Vec::new();
    for id in found {
        if !new.contains(id) && leading.iter().all(|chunk| chunk.chunk_id != *id) {
            new.push(*id);
        }
    }
    new.truncate(LEADING_MAX.saturating_sub(leading.len()));
    let places = reads.places(&new).await?;
    for chunk_id in new {
        let place = places.iter().find(|place| place.chunk_id == chunk_id);
        let text = place.and_then(|place| text_hash(place.text, deps.ranking));
        let parts = ScoreParts { role: 1.0, saturation: 1.0, ..ScoreParts::default() };
        leading.push(RankedChunk { chunk_id, score: 0.0, parts, text });
    }
    leading.truncate(LEADING_MAX);
    ranked.lead(leading);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_in(text: &str, content: &str) -> bool {
        pattern(text).is_some_and(|pattern| pattern.is_in(content))
    }

    #[test]
    fn a_text_is_found_as_it_stands_with_any_case_and_white_space() {
        for text in ["Größe der Datei", "next() called", "a <+> b", "→", "検", "get!", "x1"] {
            assert!(is_in(text, &format!("before {} after", text.to_lowercase())), "{text}");
        }
        assert!(is_in("called  multiple times", "next() called\n    multiple\ttimes"));
        assert!(!is_in("called multiple", "called, multiple"));
        assert!(is_in("zebra", "zebrafinch77") && is_in("検索", "全文検索語"));
    }

    #[test]
    fn a_few_letters_have_to_be_a_word() {
        assert!(!is_in("cat", "concatenate") && is_in("cat", "a cat."));
        assert!(!is_in("i", "if") && is_in("+=", "i+=1"));
        assert!(!is_in("", "x") && !is_in(&"x".repeat(TEXT_BYTES_MAX + 1), &"x".repeat(2000)));
    }

    #[test]
    fn a_query_may_mean_less_than_it_says() {
        assert_eq!(
            texts("where is `zebra` used?"),
            ["where is `zebra` used?", "where is `zebra` used", "zebra"]
        );
        assert_eq!(texts(" get_user "), ["get_user"]);
        assert_eq!(texts("two words"), ["two words"]);
        assert_eq!(texts("?!"), ["?!"]);
    }

    #[test]
    fn a_filter_may_demand_a_text() {
        let word = || FilterClause::Word("a".to_owned());
        let field = || FilterClause::Field { name: "lang", value: "rust".to_owned() };
        assert!(demands_text(&FilterClause::All(vec![field(), word()])));
        assert!(!demands_text(&FilterClause::Any(vec![field(), word()])));
        assert!(!demands_text(&FilterClause::Not(Box::new(word()))));
    }
}
