//! Extracts from a query of words the texts that could occur literally in a file: names and phrases.

use crate::search::fields::field;

/// Filters whose values are names of code.
const NAME_FIELDS: &[&str] = &[
    "calls", "calledBy", "uses", "param", "decorator", "throws", "reads", "writes", "mutates", "awaits",
    "extends",
];
/// Words between conditions.
const OPERATORS: &[&str] = &["AND", "OR", "NOT", "(", ")"];
/// A query of more words is a question or a pasted text.
const PHRASE_WORDS_MAX: usize = 16;

/// The parts of a query that may occur literally.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiteralParts {
    /// Names.
    pub names: Vec<String>,
    /// Phrases in quotes, and the words of the query verbatim.
    pub phrases: Vec<String>,
    /// `true` if the query is one name and nothing else.
    pub is_one_name: bool,
}

impl LiteralParts {
    /// Reads a query.
    #[must_use]
    pub fn of(query: &str) -> Self {
        let mut parts = Self::default();
        if query.trim_start().starts_with("chunk:") {
            return parts;
        }
        let (words, quoted) = without_quotes(query);
        parts.phrases = quoted;
        let mut plain: Vec<&str> = Vec::new();
        for word in words.split_whitespace().filter(|word| !OPERATORS.contains(word)) {
            let condition = word.split_once(':');
            let of_field = condition
                .and_then(|(named, value)| Some((field(named.trim_start_matches(['-', '(']))?.name, value)));
            match of_field {
                _ if word.starts_with('-') => {}
                Some((field, value)) => parts.names.extend(Self::of_filter(field, value)),
                None => plain.push(word),
            }
        }
        parts.is_one_name = plain.len() == 1 && parts.phrases.is_empty() && parts.names.is_empty();
        let names = plain.iter().filter(|word| parts.is_one_name || is_name_like(word));
        parts.names.extend(names.map(|word| simple(word).to_owned()));
        parts.names.retain(|name| !name.is_empty());
        if (2..=PHRASE_WORDS_MAX).contains(&plain.len()) {
            parts.phrases.push(plain.join(" "));
        }
        parts
    }

    /// Returns the name that a filter asks for.
    #[must_use]
    pub fn of_filter(field: &str, value: &str) -> Option<String> {
        NAME_FIELDS.contains(&field).then(|| simple(value).to_owned())
    }
}

/// Splits a query into the text outside of double quotes and the texts inside them.
fn without_quotes(query: &str) -> (String, Vec<String>) {
    let (mut words, mut quoted) = (String::new(), Vec::new());
    for (at, part) in query.split('"').enumerate() {
        // The last quote may have no partner.
        match at % 2 == 1 && !part.trim().is_empty() {
            true => quoted.push(part.to_owned()),
            false => words.push_str(part),
        }
        words.push(' ');
    }
    (words, quoted)
}

/// Returns the last segment of a qualified name, without the punctuation that surrounds it in a sentence.
fn simple(word: &str) -> &str {
    let around: &[char] = &['`', '\'', ',', ';', '(', ')', '[', ']', '{', '}', '.', ':'];
    let word = word.trim_matches(around);
    let last = word.rsplit(['.', ':', '#', '/', '\\']).next().unwrap_or(word);
    last.rsplit("->").next().unwrap_or(last)
}

/// Returns whether a word is probably a name in code and not a word of a natural language: it contains marks, digits or inner capitals.
fn is_name_like(word: &str) -> bool {
    let name = simple(word);
    let has_mark =
        name.contains(['_', '$', '@']) || word.contains("::") || word.contains("()") || word.contains("->");
    let has_digit = name.contains(|char: char| char.is_ascii_digit()) && name.contains(char::is_alphabetic);
    let has_capital = name.chars().skip(1).any(char::is_uppercase) && name.contains(char::is_lowercase);
    let is_dotted = word.trim_end_matches('.').contains('.') && !word.contains('/');
    has_mark || has_digit || has_capital || is_dotted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_phrases_are_read_from_queries() {
        for (query, names, phrases, is_one_name) in [
            ("drawBadge", &["drawBadge"][..], &[][..], true),
            ("cookie", &["cookie"], &[], true),
            ("Shop.drawBadge()", &["drawBadge"], &[], true),
            ("lang:js drawBadge", &["drawBadge"], &[], true),
            ("where is drawBadge called?", &["drawBadge"], &["where is drawBadge called?"], false),
            ("how are badges drawn", &[], &["how are badges drawn"], false),
            ("calls:Badge.draw type:function", &["draw"], &[], false),
            ("\"badge was lost\" -draft", &[], &["badge was lost"], false),
            ("std::vec a", &["vec"], &["std::vec a"], false),
            ("chunk:12", &[], &[], false),
            ("get!", &["get!"], &[], true),
        ] {
            let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
            let expected = LiteralParts { names: own(names), phrases: own(phrases), is_one_name };
            assert_eq!(LiteralParts::of(query), expected, "{query}");
        }
    }
}
