//! The terms of a text: indexing and queries use the same tokenizer, so that their terms always agree.
//!
//! A *word* is a run of letters, digits and `_`. It yields
//! - its lower-cased camel, snake and digit parts (`parseHTTP2_Frame`: `parse`, `http2`, `http`, `frame`),
//! - the whole identifier, folded, so that all naming styles match (`fooBar`, `foo_bar`, `foo-bar`: `foobar`),
//! - each adjacent pair of parts (`foo bar`).
//!
//! A chunk also has the terms of its path and, in fields of their own (`def:`, `file:`), those of its definitions and its file
//! name. With a [`Dictionary`], unsegmented identifiers (`getusername`) also yield their words, at half the weight.

mod naming_styles;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use self::naming_styles::{ideograph_pairs, is_word_char, kebab_names};
use super::dictionary::Dictionary;
use super::identifier::nfc;

pub use self::naming_styles::{Word, is_identifier, parts, squash, words};
pub use super::paths::{PathWords, paths_in};

/// Version of the rules in this file and below it; stored with the index, bumped when the terms of a text change.
pub const TERMS_VERSION: i32 = 2;

/// BM25's saturation of a term's frequency.
const K1: f32 = 1.2;
/// BM25's share of length normalisation.
const B: f32 = 0.75;
/// Length of an average chunk in weighted terms. A constant, so that a row is a pure function of its text and
/// an incremental run writes what a full one would.
const LENGTH_MEAN: f32 = 260.0;
/// `sparsevec` holds at most this many non-zero elements.
const TERMS_MAX: usize = 16_000;
/// Maximum length of a term in bytes; longer ones are cut, in chunks and queries alike.
const TERM_BYTES_MAX: usize = 64;
/// Weight of a word in the file's stem, relative to one in the text.
const STEM_FREQUENCY: f32 = 2.0;
/// Weight of a word in a parent directory.
const DIRECTORY_FREQUENCY: f32 = 1.0;
/// Additional weight of a name that the chunk defines.
const DEFINITION_FREQUENCY: f32 = 2.0;
/// Weight of a word that only the dictionary found, relative to one that case or `_` separates.
const DICTIONARY_WEIGHT: f32 = 0.5;
/// Maximum number of distinct terms of a query; the planner keeps the heaviest of them once document frequencies are known.
const QUERY_TERMS_MAX: usize = 256;
/// Maximum number of bytes of a query that are read.
const QUERY_BYTES_MAX: usize = 64 * 1024;

/// English stop words of queries. They are rare in code, so their idf would be high.
const STOP_WORDS: &[&str] = &[
    "a", "about", "all", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "code",
    "could", "did", "do", "does", "find", "for", "from", "get", "gets", "had", "has", "have", "how", "i",
    "if", "in", "into", "is", "it", "its", "like", "me", "my", "of", "on", "or", "our", "out", "please", "s",
    "should", "show", "so", "some", "t", "than", "that", "the", "their", "them", "then", "there", "these",
    "they", "this", "those", "to", "up", "used", "was", "we", "were", "what", "when", "where", "which",
    "while", "who", "why", "will", "with", "would", "you", "your",
];

/// The texts of one chunk that are indexed.
#[derive(Debug, Clone, Copy)]
pub struct Document<'a> {
    /// Path of the file, relative to its repository, with `/`.
    pub path: &'a str,
    /// Simple names the chunk defines.
    pub defines: &'a [String],
    /// Signature of the main definition, which the text of a later part of a long definition does not contain.
    pub signature: Option<&'a str>,
    /// The chunk's text.
    pub text: &'a str,
}

/// One row of the lexical index.
#[derive(Debug, Clone, PartialEq)]
pub struct LexicalRow {
    /// Term ids, ascending, unique.
    pub terms: Vec<i32>,
    /// BM25's term frequency part, parallel to `terms`; multiplied by idf it is the term's score.
    pub weights: Vec<f32>,
}

/// One term of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryTerm {
    /// Its id, as in [`LexicalRow::terms`].
    pub id: i32,
    /// Multiplier of the term's idf: its dampened frequency in the query.
    pub weight: f32,
    /// The term itself, for explanations.
    pub term: String,
}

/// The id of a term: a hash from 1 to 999,999,999, the range of `sparsevec(1000000000)`.
///
/// 393,000 distinct terms of real code have 79 collisions, so ids need no dictionary.
#[must_use]
pub fn term_id(term: &str) -> i32 {
    let hash = crc32fast::hash(term.as_bytes()) % 999_999_999;
    // The remainder is below 10^9, which fits an i32.
    hash.cast_signed() + 1
}

/// The terms of a chunk with their BM25 weights.
#[must_use]
pub fn document(document: &Document<'_>, dictionary: Option<&Dictionary>) -> LexicalRow {
    let mut counts = Counts { dictionary, ..Counts::default() };
    counts.add_text(document.text, 1.0);
    if let Some(signature) = document.signature
        && !document.text.contains(signature)
    {
        counts.add_text(signature, 1.0);
    }
    let path = PathWords::new(document.path);
    counts.add_text(path.stem, STEM_FREQUENCY);
    for directory in &path.directories {
        counts.add_text(directory, DIRECTORY_FREQUENCY);
    }
    counts.add_field_term(&field("file:", path.stem));
    for name in document.defines {
        counts.add_text(name, DEFINITION_FREQUENCY);
        counts.add_field_term(&field("def:", name));
    }
    counts.into_row()
}

/// The terms of a query, the most frequent first, at most 256.
///
/// Stop words (`how`, `the`) are dropped unless the query has no other words. A word that looks like an identifier, or is the
/// only one, is also searched as a definition (`def:`); one that looks like a path, also as a file (`file:`).
#[must_use]
pub fn query_terms(text: &str, dictionary: Option<&Dictionary>) -> Vec<QueryTerm> {
    let text = &*nfc(&text[..floor_char_boundary(text, QUERY_BYTES_MAX)]);
    let mut order: Vec<QueryTerm> = Vec::new();
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut add = |term: &str, weight: f32| match seen.entry(term.to_owned()) {
        Entry::Occupied(slot) => order[*slot.get()].weight += weight,
        Entry::Vacant(slot) => {
            order.push(QueryTerm { id: term_id(term), weight, term: term.to_owned() });
            slot.insert(order.len() - 1);
        }
    };
    let words: Vec<Word<'_>> = words(text).collect();
    let all_stop = words.iter().all(|word| is_stop_word(word.text));
    let alone = words.iter().filter(|word| !is_stop_word(word.text)).count() == 1;
    let mut previous: Option<(String, usize)> = None;
    for word in &words {
        if !all_stop && is_stop_word(word.text) {
            previous = None;
            continue;
        }
        let parts = parts(word.text);
        // Adjacent words are a pair, like the parts of an identifier: `request context`, `RequestContext`.
        if let (Some((last, end)), Some(first)) = (&previous, parts.first())
            && joins(&text[*end..word.start])
        {
            add(&format!("{last} {first}"), 1.0);
        }
        terms_of_word(&parts, &mut |term| add(term, 1.0));
        dictionary_words(&parts, dictionary, &mut |word| add(word, DICTIONARY_WEIGHT));
        if alone || is_identifier(word, text) {
            add(&field("def:", word.text), 1.0);
        }
        previous = parts.into_iter().last().map(|last| (last, word.end()));
    }
    for path in paths_in(text) {
        add(&field("file:", PathWords::new(path).stem), 1.0);
    }
    for term in &mut order {
        // A repeated word weighs more, but less than proportionally.
        term.weight = term.weight.min(1.0) + term.weight.max(1.0).ln();
    }
    order.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    order.truncate(QUERY_TERMS_MAX);
    order
}

/// The id of the term of a whole word, which every chunk that contains the word has; `None` if the text is not one word.
#[must_use]
pub fn whole_word(word: &str) -> Option<i32> {
    let word = &*nfc(word);
    let whole = parts(word).concat();
    (!whole.is_empty() && word.chars().all(is_word_char)).then(|| term_id(cut(&whole)))
}

/// Checks whether a word is a stop word of queries.
#[must_use]
pub fn is_stop_word(word: &str) -> bool {
    word.len() <= 8 && STOP_WORDS.binary_search(&word.to_ascii_lowercase().as_str()).is_ok()
}

/// Term frequencies of one document.
#[derive(Debug, Default)]
struct Counts<'d> {
    dictionary: Option<&'d Dictionary>,
    frequency: HashMap<i32, f32>,
    length: f32,
}

impl Counts<'_> {
    /// Counts the terms of `text`; each occurrence adds `frequency`.
    fn add_text(&mut self, text: &str, frequency: f32) {
        let text = &*nfc(text);
        for word in words(text) {
            let parts = parts(word.text);
            terms_of_word(&parts, &mut |term| {
                *self.frequency.entry(term_id(term)).or_default() += frequency;
                self.length += frequency;
            });
            // Words of the dictionary do not add to the length, so that all other terms weigh the same with a dictionary.
            dictionary_words(&parts, self.dictionary, &mut |word| {
                *self.frequency.entry(term_id(word)).or_default() += frequency * DICTIONARY_WEIGHT;
            });
        }
        // The parts of kebab-case names are separate words here, so their whole names are added as terms.
        for name in kebab_names(text) {
            *self.frequency.entry(term_id(cut(&squash(name)))).or_default() += frequency;
        }
    }

    /// Sets a field term, which always has frequency 1 and does not add to the length.
    fn add_field_term(&mut self, term: &str) {
        self.frequency.insert(term_id(term), 1.0);
    }

    fn into_row(self) -> LexicalRow {
        let norm = K1 * (1.0 - B + B * self.length / LENGTH_MEAN);
        let mut row: Vec<(i32, f32)> =
            self.frequency.into_iter().map(|(id, tf)| (id, tf * (K1 + 1.0) / (tf + norm))).collect();
        if row.len() > TERMS_MAX {
            row.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            row.truncate(TERMS_MAX);
        }
        row.sort_by_key(|(id, _)| *id);
        let (terms, weights) = row.into_iter().unzip();
        LexicalRow { terms, weights }
    }
}

/// Calls `emit` with each word that a dictionary finds inside the parts of a name.
fn dictionary_words(parts: &[String], dictionary: Option<&Dictionary>, emit: &mut dyn FnMut(&str)) {
    if let Some(dictionary) = dictionary {
        parts.iter().for_each(|part| dictionary.split(part, emit));
    }
}

/// Calls `emit` with each term of the word that has these parts.
fn terms_of_word(parts: &[String], emit: &mut dyn FnMut(&str)) {
    for part in parts {
        emit(cut(part));
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        // `http2` also yields `http`; `x1` does not yield `x`.
        if letters.len() < part.len() && letters.len() > 1 {
            emit(cut(letters));
        }
        for pair in ideograph_pairs(part) {
            emit(pair);
        }
    }
    if parts.len() > 1 {
        emit(cut(&parts.concat()));
        for pair in parts.windows(2) {
            emit(cut(&format!("{} {}", pair[0], pair[1])));
        }
    }
}

/// A term of a field: `def:foobar`.
fn field(prefix: &str, name: &str) -> String {
    let term = format!("{prefix}{}", squash(name));
    cut(&term).to_owned()
}

/// Checks whether two words with this text between them form a pair.
fn joins(between: &str) -> bool {
    matches!(between, " " | "-" | "." | "/" | "::")
}

fn cut(term: &str) -> &str {
    &term[..floor_char_boundary(term, TERM_BYTES_MAX)]
}

/// The largest character boundary of `text` that is at most `index`.
fn floor_char_boundary(text: &str, index: usize) -> usize {
    if index >= text.len() {
        return text.len();
    }
    (0..=index).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn terms(word: &str) -> Vec<String> {
        let mut found = Vec::new();
        terms_of_word(&parts(word), &mut |term| found.push(term.to_owned()));
        found
    }

    fn query_words(text: &str) -> Vec<String> {
        query_terms(text, None).into_iter().map(|term| term.term).collect()
    }

    fn row(path: &str, text: &str) -> LexicalRow {
        document(&Document { path, defines: &[], signature: None, text }, None)
    }

    fn weight(row: &LexicalRow, term: &str) -> Option<f32> {
        row.terms.binary_search(&term_id(term)).ok().map(|at| row.weights[at])
    }

    #[test]
    fn splits_every_naming_style() {
        assert_eq!(terms("fooBar"), ["foo", "bar", "foobar", "foo bar"]);
        assert_eq!(terms("foo_bar"), terms("FooBar"));
        assert_eq!(terms("__init__"), ["init"]);
        assert_eq!(parts("XMLHttpRequest"), ["xml", "http", "request"]);
        assert_eq!(parts("parseHTTP2_Frame"), ["parse", "http2", "frame"]);
        assert_eq!(parts("userIDs"), ["user", "ids"]);
        assert_eq!(parts("max-old-space"), ["max", "old", "space"]);
        assert_eq!(terms("utf8"), ["utf8", "utf"]);
        assert_eq!(terms("x1"), ["x1"]);
        assert_eq!(parts("ÜberGröße"), ["über", "größe"]);
        assert_eq!(terms("検索語"), ["検索語", "検索", "索語"]);
    }

    #[test]
    fn stop_words_are_sorted_for_binary_search() {
        assert!(STOP_WORDS.is_sorted());
    }

    #[test]
    fn queries_drop_stop_words() {
        assert_eq!(query_words("how are routes registered"), ["routes", "routes registered", "registered"]);
        assert_eq!(query_words("what is this"), ["what", "what is", "is", "is this", "this"]);
    }

    #[test]
    fn a_name_is_looked_for_as_a_definition() {
        assert!(query_words("Blueprint").contains(&"def:blueprint".to_owned()));
        assert!(query_words("where is parse_headers called").contains(&"def:parseheaders".to_owned()));
        assert!(query_words("why does `Scaffold` matter").contains(&"def:scaffold".to_owned()));
        assert!(query_words("tokio::spawn blocking").contains(&"def:spawn".to_owned()));
        assert!(!query_words("request context. handling").iter().any(|term| term.starts_with("def:")));
    }

    #[test]
    fn a_path_is_looked_for_as_a_file() {
        let found = query_words("File \"django/db/models/query.py\", line 12");
        assert!(found.contains(&"file:query".to_owned()), "{found:?}");
        assert!(!query_words("see https://example.org/a.html").iter().any(|term| term.starts_with("file:")));
    }

    #[test]
    fn a_repeated_word_weighs_more_but_not_in_proportion() {
        let terms = query_terms("cache the cache of caches", None);
        assert_eq!(terms[0].term, "cache");
        assert!(terms[0].weight > 1.0 && terms[0].weight < 2.0);
    }

    #[test]
    fn chunks_have_terms_of_their_path_and_definitions() {
        let defines = ["FooBar".to_owned()];
        let text = "impl FooBar { }";
        let with = document(
            &Document { path: "src/net/http_server.rs", defines: &defines, signature: None, text },
            None,
        );
        for term in ["http", "server", "httpserver", "net", "src", "file:httpserver", "def:foobar"] {
            assert!(weight(&with, term).is_some(), "{term}");
        }
        assert!(weight(&with, "foobar") > weight(&row("src/net/http_server.rs", text), "foobar"));
        assert!(weight(&with, "rs").is_none());
    }

    #[test]
    fn kebab_names_are_whole_too() {
        let row = row("a", "--max-old-space-size=1 a - b x-1");
        assert!(weight(&row, "maxoldspacesize").is_some());
        assert!(weight(&row, "ab").is_none());
    }

    #[test]
    fn weights_are_the_bm25_part_of_the_frequency() {
        let row = row("", "alpha alpha beta");
        // `file:` of the empty stem does not count as length.
        let norm = K1 * (1.0 - B + B * 3.0 / LENGTH_MEAN);
        assert!((weight(&row, "alpha").unwrap() - 2.0 * 2.2 / (2.0 + norm)).abs() < 1e-5);
        assert!((weight(&row, "beta").unwrap() - 2.2 / (1.0 + norm)).abs() < 1e-5);
    }

    #[test]
    fn no_row_is_wider_than_the_vector_type_allows() {
        let text: String = (0..20_000).map(|i| format!("word{i}x ")).collect();
        assert_eq!(row("a", &text).terms.len(), TERMS_MAX);
    }

    #[test]
    fn a_dictionary_adds_words_and_changes_no_other() {
        let dictionary = Dictionary::from_lists(["get 60\nuser 30\nname 40\nrest 900\n"], 10);
        let text = "let getusername = getUser(name); other";
        let document =
            |dictionary| document(&Document { path: "a", defines: &[], signature: None, text }, dictionary);
        let (without, with) = (document(None), document(Some(&dictionary)));
        assert!(weight(&without, "getusername").is_some() && weight(&without, "username").is_none());
        for term in ["getusername", "other", "get user"] {
            assert_eq!(weight(&with, term), weight(&without, term), "{term}");
        }
        for term in ["get", "user", "name"] {
            assert!(weight(&with, term) > weight(&without, term), "{term}");
        }
        let hidden = row_with("getusername", &dictionary);
        let marked = row_with("getUserName", &dictionary);
        assert!(weight(&hidden, "user").unwrap() < weight(&marked, "user").unwrap());

        let query_words = query_terms("getusername", Some(&dictionary));
        let of = |word: &str| query_words.iter().find(|term| term.term == word).unwrap().weight;
        assert_eq!((of("user"), of("getusername")), (DICTIONARY_WEIGHT, 1.0));
        assert_eq!(query_terms("user name", Some(&dictionary)), query_terms("user name", None));
    }

    fn row_with(text: &str, dictionary: &Dictionary) -> LexicalRow {
        document(&Document { path: "", defines: &[], signature: None, text }, Some(dictionary))
    }

    proptest! {
        #[test]
        fn any_text_makes_a_valid_row(path in ".{0,40}", text in "\\PC{0,400}") {
            let row = row(&path, &text);
            prop_assert!(row.terms.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert!(row.terms.iter().all(|id| (1..=999_999_999).contains(id)));
            prop_assert_eq!(row.terms.len(), row.weights.len());
            prop_assert!(row.weights.iter().all(|w| w.is_finite() && *w > 0.0 && *w < K1 + 1.0));
        }

        #[test]
        fn any_question_makes_bounded_terms(text in "\\PC{0,400}") {
            let terms = query_terms(&text, None);
            prop_assert!(terms.len() <= QUERY_TERMS_MAX);
            prop_assert!(terms.iter().all(|t| t.weight >= 1.0 && t.term.len() <= TERM_BYTES_MAX && t.id == term_id(&t.term)));
        }

        #[test]
        fn words_of_a_text_are_terms_of_a_query(word in "[a-zA-Z][a-zA-Z0-9_]{1,20}") {
            let row = row("a", &format!("let {word} = 1;"));
            let found = query_terms(&word, None).iter().any(|t| row.terms.binary_search(&t.id).is_ok());
            prop_assert!(found || squash(&word).is_empty());
        }
    }
}
