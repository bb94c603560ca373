//! What a question says: plain words rank; only `"quoted phrases"` and `-negated` words gate.

use std::fmt;

/// More words than anybody types: the text was pasted (an issue, a log), and nothing in it gates.
const TYPED_WORDS_MAX: usize = 32;

/// A parsed question. `Display` prints its normal form, and parsing that gives the same value again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    /// The plain words, whitespace folded.
    pub text: String,
    /// A hit contains each of these; they rank as plain words do, too.
    pub phrases: Vec<String>,
    /// No hit contains any of these.
    pub negated: Vec<String>,
}

impl Query {
    /// Parses a question. Never fails: a quote without a partner says nothing, a lone `-` is a plain word.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        if text.split_whitespace().nth(TYPED_WORDS_MAX).is_some() {
            return Self { text: fold(text), ..Self::default() };
        }
        let mut query = Self::default();
        let mut plain = Vec::new();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let (token, behind) = next_token(rest);
            match token {
                Token::Plain(word) => plain.extend(without_quotes(word)),
                Token::Phrase(phrase) => query.phrases.push(fold(phrase)),
                Token::Negated(words) => query.negated.push(fold(words)),
            }
            rest = behind.trim_start();
        }
        query.text = plain.join(" ");
        query
    }

    /// The words that rank: the plain ones and those of the phrases.
    #[must_use]
    pub fn ranking_text(&self) -> String {
        let words = std::iter::once(&self.text).chain(&self.phrases).filter(|words| !words.is_empty());
        words.map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// Whether a hit must pass [`Query::admits`] at all.
    #[must_use]
    pub fn gates(&self) -> bool {
        !self.phrases.is_empty() || !self.negated.is_empty()
    }

    /// Whether a chunk's text passes: whitespace folded on both sides, upper and lower case alike.
    #[must_use]
    pub fn admits(&self, content: &str) -> bool {
        if !self.gates() {
            return true;
        }
        let content = fold(content).to_lowercase();
        let says = |words: &String| content.contains(&words.to_lowercase());
        self.phrases.iter().all(says) && !self.negated.iter().any(says)
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = (!self.text.is_empty()).then(|| self.text.clone());
        let phrases = self.phrases.iter().map(|phrase| format!("\"{phrase}\""));
        let bare = |words: &str| words.starts_with(char::is_alphanumeric) && !words.contains(' ');
        let negated = self
            .negated
            .iter()
            .map(|words| if bare(words) { format!("-{words}") } else { format!("-\"{words}\"") });
        f.write_str(&plain.into_iter().chain(phrases).chain(negated).collect::<Vec<_>>().join(" "))
    }
}

enum Token<'a> {
    Plain(&'a str),
    Phrase(&'a str),
    Negated(&'a str),
}

/// The token at the start of `text`, which is not empty and starts without whitespace, and what follows it.
fn next_token(text: &str) -> (Token<'_>, &str) {
    if let Some((phrase, behind)) = quoted(text) {
        return (Token::Phrase(phrase), behind);
    }
    if let Some(negation) = text.strip_prefix('-') {
        if let Some((phrase, behind)) = quoted(negation) {
            return (Token::Negated(phrase), behind);
        }
        let (word, behind) = word(negation);
        // `--flag` and a lone `-` are plain; so is a word with a quote that nothing closes.
        if !word.is_empty() && !word.starts_with('-') && !word.contains('"') {
            return (Token::Negated(word), behind);
        }
    }
    let (word, behind) = word(text);
    (Token::Plain(word), behind)
}

/// `"phrase"` at the start of `text`, when it is closed, says something, and ends a word.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let (phrase, behind) = text.strip_prefix('"')?.split_once('"')?;
    let whole = behind.chars().next().is_none_or(char::is_whitespace);
    (whole && !phrase.trim().is_empty()).then_some((phrase, behind))
}

/// A plain word without its quotes, which rank nothing and would find another partner when printed.
fn without_quotes(word: &str) -> Option<String> {
    let mut bare = word.replace('"', "");
    if matches!(next_token(&bare).0, Token::Negated(_)) {
        bare.remove(0);
    }
    (!bare.is_empty()).then_some(bare)
}

fn word(text: &str) -> (&str, &str) {
    text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()))
}

/// Each run of whitespace as one space, none at the ends.
fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn query(text: &str, phrases: &[&str], negated: &[&str]) -> Query {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Query { text: text.to_owned(), phrases: owned(phrases), negated: owned(negated) }
    }

    #[test]
    fn only_quotes_and_negation_gate() {
        assert_eq!(Query::parse("how  are routes\nregistered"), query("how are routes registered", &[], &[]));
        assert_eq!(Query::parse("cache \"fn get(\" -test"), query("cache", &["fn get("], &["test"]));
        assert_eq!(Query::parse("a -\"b  c\" d"), query("a d", &[], &["b c"]));
    }

    #[test]
    fn what_is_no_gate_is_plain() {
        for plain in ["run --verbose", "a - b", "a-b"] {
            assert_eq!(Query::parse(plain), query(plain, &[], &[]), "{plain}");
        }
        for (text, plain) in [
            ("say \"hello", "say hello"),
            ("\"\" x", "x"),
            ("x=\"y z\"", "x=y z"),
            ("-\"a", "a"),
            ("-a\"", "a"),
        ] {
            assert_eq!(Query::parse(text), query(plain, &[], &[]), "{text}");
        }
    }

    #[test]
    fn nothing_in_a_pasted_text_gates() {
        let issue = format!("{} \"quoted\" -v", "word ".repeat(40));
        assert!(!Query::parse(&issue).gates());
    }

    #[test]
    fn gates_fold_whitespace_and_case() {
        let query = Query::parse("x \"Fn get( key\" -mock");
        assert!(query.admits("fn get(\n        key: &str)"));
        assert!(!query.admits("fn get(key: &str)"));
        assert!(!query.admits("fn get( key: &str) // MockStore"));
    }

    proptest! {
        #[test]
        fn printing_and_parsing_again_changes_nothing(text in "[a-c\" \\-\n]{0,40}") {
            let once = Query::parse(&text);
            prop_assert_eq!(Query::parse(&once.to_string()), once);
        }

        #[test]
        fn so_it_is_for_any_text(text in "\\PC{0,200}") {
            let once = Query::parse(&text);
            prop_assert_eq!(Query::parse(&once.to_string()), once);
        }
    }
}
