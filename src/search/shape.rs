//! What kind of question it is, as continuous numbers: no signal is switched, each is weighed.

use super::naming::AskedName;
use crate::languages::terms::{is_identifier, is_stop_word, squash, words};

/// Words from which a text begins to be an issue rather than a question, and from which it is wholly one.
const ISSUE_WORDS: (f32, f32) = (40.0, 160.0);

/// Telling words from which the first line of a text counts as its subject.
const SUBJECT_WORDS_MIN: usize = 2;

/// How a question looks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Shape {
    /// 0 ..= 1: it is the name of something.
    pub symbol: f32,
    /// 0 ..= 1: it is a sentence, or words that describe.
    pub sentence: f32,
    /// 0 ..= 1: it is a long text with noise in it, such as an issue.
    pub issue: f32,
    /// Words that name something, lower-cased, in order, each once; of a text with a subject line those of that line.
    pub words: Vec<String>,
    /// Names of the code in it, squashed, each once; for a symbol question its last segment first.
    pub names: Vec<String>,
    /// The name that it is, if it may be nothing but a name.
    pub asked: Option<AskedName>,
}

impl Shape {
    /// Looks at a question's ranking text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let all: Vec<_> = words(text).collect();
        let telling: Vec<_> = all.iter().filter(|word| !is_stop_word(word.text)).collect();
        let telling = if telling.is_empty() { all.iter().collect() } else { telling };
        let one_token = text.split_whitespace().count() == 1;
        let identifiers: Vec<_> = telling.iter().filter(|word| is_identifier(word, text)).collect();

        // `Router`, `axum::Router` and `router.route()` are one name; `Router new` is half one.
        let symbol = if one_token {
            1.0
        } else if telling.is_empty() {
            0.0
        } else {
            let share = ratio(identifiers.len(), telling.len());
            share * share * 2.0 / ratio(telling.len() + 1, 1)
        };
        let mut names: Vec<String> = Vec::new();
        let last = if one_token { telling.last().copied() } else { None };
        for word in last.into_iter().chain(identifiers.into_iter().copied()) {
            push_new(&mut names, squash(word.text));
        }
        let mut told = Vec::new();
        let subject = subject(text).unwrap_or(text);
        for word in telling.iter().filter(|word| word.start < subject.len()) {
            push_new(&mut told, word.text.to_lowercase());
        }
        let (from, to) = ISSUE_WORDS;
        let issue = ((ratio(all.len(), 1) - from) / (to - from)).clamp(0.0, 1.0);
        let symbol = symbol.clamp(0.0, 1.0);
        Self { symbol, sentence: 1.0 - symbol, issue, words: told, names, asked: AskedName::of(text) }
    }

    /// The shape of a question whose name is defined: it can only be that name.
    #[must_use]
    pub fn named(mut self) -> Self {
        if let Some(asked) = &self.asked {
            self.names = asked.squashed();
            (self.symbol, self.sentence) = (1.0, 0.0);
        }
        self
    }

    /// Whether the question says one of these words itself, in this form or as a part of a name.
    #[must_use]
    pub fn mentions(&self, wanted: &[&str]) -> bool {
        self.words.iter().any(|word| wanted.iter().any(|want| word == want))
            || self.words.iter().any(|word| word.split('_').any(|part| wanted.contains(&part)))
    }
}

/// The first line of several, if it says something: an issue's title, a commit's subject.
#[must_use]
pub fn subject(text: &str) -> Option<&str> {
    let (first, _) = text.trim_start().split_once('\n')?;
    let start = text.len() - text.trim_start().len();
    let telling = words(first).filter(|word| !is_stop_word(word.text)).count();
    (telling >= SUBJECT_WORDS_MIN).then(|| &text[..start + first.len()])
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
            assert!(Shape::of(text).symbol > 0.99, "{text}");
        }
        assert_eq!(Shape::of("Sinatra::ShowExceptions").names[0], "showexceptions");
    }

    #[test]
    fn a_sentence_is_none_and_keeps_its_names() {
        let shape = Shape::of("how does pass_context hand over the Context");
        assert!(shape.symbol < 0.1 && shape.sentence > 0.9, "{shape:?}");
        assert_eq!(shape.names, ["passcontext"]);
        assert_eq!(shape.words, ["pass_context", "hand", "over", "context"]);
    }

    #[test]
    fn a_long_text_is_an_issue() {
        assert!(Shape::of("one two three").issue < 0.01);
        assert!(Shape::of(&"the server fails when ".repeat(60)).issue > 0.99);
    }

    #[test]
    fn knows_when_tests_are_asked_for() {
        assert!(Shape::of("tests of the router").mentions(&["test", "tests"]));
        assert!(Shape::of("test_client").mentions(&["test"]));
        assert!(!Shape::of("latest contest").mentions(&["test"]));
    }

    proptest! {
        #[test]
        fn all_numbers_stay_between_0_and_1(text in "\\PC{0,300}") {
            let shape = Shape::of(&text);
            for number in [shape.symbol, shape.sentence, shape.issue] {
                prop_assert!((0.0..=1.0).contains(&number));
            }
        }
    }
}
