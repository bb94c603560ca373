//! What kind of question it is, as continuous numbers: no signal is switched, each is weighed.

use super::naming::AskedName;
use languages::terms::{is_identifier, is_stop_word, squash, words};

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
    /// 0 ..= 1: it asks how to use the thing (`how do I …`), which documents tell better than code.
    pub usage: f32,
    /// 0 ..= 1: it asks what the package declares of itself, such as the versions that it needs.
    pub manifest: f32,
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
        let (usage, manifest) = (asks(asks_usage(text)), asks(asks_manifest(text)));
        let asked = AskedName::of(text);
        Self { symbol, sentence: 1.0 - symbol, issue, words: told, usage, manifest, names, asked }
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

fn asks(does: bool) -> f32 {
    if does { 1.0 } else { 0.0 }
}

/// How people begin when they want to use something rather than read its code.
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
    // Long enough for the longest start, and bounded for a pasted text.
    let head: String = text.chars().take(40).flat_map(char::to_lowercase).collect();
    USAGE_STARTS.iter().any(|start| head.starts_with(start))
}

/// `minimum Python version`, `which version of Go is required`.
fn asks_manifest(text: &str) -> bool {
    let words: Vec<String> = words(text).take(16).map(|word| word.text.to_lowercase()).collect();
    let says = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    says(&["version", "versions"])
        && says(&[
            "minimum",
            "minimal",
            "required",
            "requires",
            "require",
            "supported",
            "supports",
            "needs",
            "need",
        ])
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

    #[test]
    fn knows_when_documents_or_manifests_are_asked_for() {
        assert!(Shape::of("How do I send a file?").usage > 0.9);
        assert!(Shape::of("how are files sent").usage < 0.1);
        assert!(Shape::of("minimum Python version").manifest > 0.9);
        assert!(Shape::of("which Node.js version is required").manifest > 0.9);
        assert!(Shape::of("how nvm detects whether a version is already installed").manifest < 0.1);
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
