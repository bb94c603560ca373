//! Classifies a query: symbol, sentence or issue. Classes are shares from 0 to 1 rather than flags, so that the ranking
//! changes gradually with the query.

use crate::search::query::exact_name::{QueriedName, queried};
use languages::terms::{is_identifier, is_stop_word, squash, words};

/// Number of words from which a text starts to count as an issue, and from which it fully does.
const ISSUE_WORDS: (f32, f32) = (40.0, 160.0);

/// Words (without stop words) that the first line of a text needs to count as its subject.
const SUBJECT_WORDS_MIN: usize = 2;

/// The class of a query, which decides how signals are weighted.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::search) struct QueryClass {
    /// Degree to which the query is the name of something, 0 to 1.
    pub symbol: f32,
    /// Degree to which it is a sentence or a description; `1 - symbol`.
    pub sentence: f32,
    /// Degree to which it is a long text with noise, such as an issue; 0 to 1.
    pub issue: f32,
    /// Words without stop words, lower-case, in order, each once; of a text with a subject line, only those of that line.
    pub words: Vec<String>,
    /// 1 if it asks how to use something (`how do I …`), which documents answer better than code; otherwise 0.
    pub usage: f32,
    /// 1 if it asks for something that a package manifest declares, such as a required version; otherwise 0.
    pub manifest: f32,
    /// Identifiers in it, squashed (lower case, without separators), each once; of a symbol the last segment first.
    pub names: Vec<String>,
    /// The queried name, if the query can be a name.
    pub name: Option<QueriedName>,
}

impl QueryClass {
    /// Returns the degree to which it is a sentence of usual length, not an issue.
    #[must_use]
    pub(in crate::search) fn short_sentence(&self) -> f32 {
        self.sentence * (1.0 - self.issue)
    }

    /// Classifies the text of a query ([`crate::search::query::SearchQuery::ranking_text`]).
    #[must_use]
    pub(in crate::search) fn new(text: &str) -> Self {
        let all: Vec<_> = words(text).collect();
        let content: Vec<_> = all.iter().filter(|word| !is_stop_word(word.text)).collect();
        let content = if content.is_empty() { all.iter().collect() } else { content };
        let one_token = text.split_whitespace().count() == 1;
        let identifiers: Vec<_> = content.iter().filter(|word| is_identifier(word, text)).collect();

        // `Router`, `axum::Router` and `router.route()` are one name; `Router new` is only partly a name.
        let symbol = if one_token {
            1.0
        } else if content.is_empty() {
            0.0
        } else {
            let share = ratio(identifiers.len(), content.len());
            share * share * 2.0 / ratio(content.len() + 1, 1)
        };
        let mut names: Vec<String> = Vec::new();
        let last = if one_token { content.last().copied() } else { None };
        for word in last.into_iter().chain(identifiers.into_iter().copied()) {
            push_new(&mut names, squash(word.text));
        }
        let mut kept = Vec::new();
        let subject = subject(text).unwrap_or(text);
        for word in content.iter().filter(|word| word.start < subject.len()) {
            push_new(&mut kept, word.text.to_lowercase());
        }
        let (from, to) = ISSUE_WORDS;
        let issue = ((ratio(all.len(), 1) - from) / (to - from)).clamp(0.0, 1.0);
        let symbol = symbol.clamp(0.0, 1.0);
        let (usage, manifest) = (share_if(asks_usage(text)), share_if(asks_manifest(text)));
        let name = queried(text);
        Self { symbol, sentence: 1.0 - symbol, issue, words: kept, usage, manifest, names, name }
    }

    /// Returns the class after a definition with the queried name was found: a pure symbol.
    #[must_use]
    pub(in crate::search) fn into_defined_name(mut self) -> Self {
        if let Some(name) = &self.name {
            self.names = name.squashed();
            (self.symbol, self.sentence) = (1.0, 0.0);
        }
        self
    }

    /// Returns whether the query contains one of `candidates`, also as a part of a name (`test_client`).
    #[must_use]
    pub(in crate::search) fn mentions(&self, candidates: &[&str]) -> bool {
        self.words.iter().any(|word| candidates.contains(&word.as_str()))
            || self.words.iter().any(|word| word.split('_').any(|part| candidates.contains(&part)))
    }
}

fn share_if(holds: bool) -> f32 {
    if holds { 1.0 } else { 0.0 }
}

/// Beginnings of queries about using something rather than about its code.
const USAGE_STARTS: &[&str] = &[
    "how do i ",
    "how do you ",
    "how do we ",
    "how can i ",
    "how can you ",
    "how can we ",
    "how can a user ",
    "how should i ",
    "how to ",
    "can i ",
    "what is the difference between ",
];

fn asks_usage(text: &str) -> bool {
    let text = text.trim_start();
    // 40 characters are longer than each start; converting a long pasted text to lower case would be wasteful.
    let head: String = text.chars().take(40).flat_map(char::to_lowercase).collect();
    USAGE_STARTS.iter().any(|start| head.starts_with(start))
}

/// Returns whether the query asks for a required version: `minimum Python version`, `which version of Go is required`.
fn asks_manifest(text: &str) -> bool {
    let words: Vec<String> = words(text).take(16).map(|word| word.text.to_lowercase()).collect();
    let has_any = |candidates: &[&str]| words.iter().any(|word| candidates.contains(&word.as_str()));
    has_any(&["version", "versions"])
        && has_any(&[
            "minimum", "minimal", "required", "requires", "require", "supported", "supports", "needs", "need",
        ])
}

/// Returns the first of several lines, if it has enough words: the title of an issue, the subject of a commit.
#[must_use]
pub(in crate::search) fn subject(text: &str) -> Option<&str> {
    let (first, _) = text.trim_start().split_once('\n')?;
    let start = text.len() - text.trim_start().len();
    let content = words(first).filter(|word| !is_stop_word(word.text)).count();
    (content >= SUBJECT_WORDS_MIN).then(|| &text[..start + first.len()])
}

fn push_new(list: &mut Vec<String>, item: String) {
    if !item.is_empty() && !list.contains(&item) {
        list.push(item);
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of words are far below 2^24")]
fn ratio(part: usize, whole: usize) -> f32 {
    part as f32 / whole as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_is_a_symbol() {
        for text in ["Blueprint", "response", "Sinatra::ShowExceptions", "render_template", "app.route()"] {
            assert!(QueryClass::new(text).symbol > 0.99, "{text}");
        }
        assert_eq!(QueryClass::new("Sinatra::ShowExceptions").names[0], "showexceptions");
    }

    #[test]
    fn a_sentence_is_not_a_symbol_and_keeps_its_names() {
        let class = QueryClass::new("how does pass_context hand over the Context");
        assert!(class.symbol < 0.1 && class.sentence > 0.9, "{class:?}");
        assert_eq!(class.names, ["passcontext"]);
        assert_eq!(class.words, ["pass_context", "hand", "over", "context"]);
    }

    #[test]
    fn a_long_text_is_an_issue() {
        assert!(QueryClass::new("one two three").issue < 0.01);
        assert!(QueryClass::new(&"the server fails when ".repeat(60)).issue > 0.99);
    }

    #[test]
    fn queries_for_tests_are_recognised() {
        assert!(QueryClass::new("tests of the router").mentions(&["test", "tests"]));
        assert!(QueryClass::new("test_client").mentions(&["test"]));
        assert!(!QueryClass::new("latest contest").mentions(&["test"]));
    }

    #[test]
    fn queries_for_documents_or_manifests_are_recognised() {
        assert!(QueryClass::new("How do I send a file?").usage > 0.9);
        assert!(QueryClass::new("how are files sent").usage < 0.1);
        assert!(QueryClass::new("minimum Python version").manifest > 0.9);
        assert!(QueryClass::new("which Node.js version is required").manifest > 0.9);
        assert!(QueryClass::new("how nvm detects whether a version is already installed").manifest < 0.1);
    }

    proptest! {
        #[test]
        fn all_numbers_stay_between_0_and_1(text in "\\PC{0,300}") {
            let class = QueryClass::new(&text);
            for number in [class.symbol, class.sentence, class.issue] {
                prop_assert!((0.0..=1.0).contains(&number));
            }
        }
    }
}
