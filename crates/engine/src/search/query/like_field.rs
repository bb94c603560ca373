//! Words that look like a filter.

/// A word `name:value` whose name is not a field, or whose value is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LikeField {
    /// The whole word, as typed.
    pub word: String,
    /// The part before the colon: ASCII letters, digits, `_` and `-`, beginning with a letter.
    pub name: String,
    /// The part after it; may be empty.
    pub value: String,
}

impl LikeField {
    /// Returns `None` for other words, including `path::Path`, `https://x` and `12:30`.
    pub(super) fn from_word(word: &str) -> Option<Self> {
        let (name, value) = word.split_once(':')?;
        let of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(of_name);
        let is_path_or_url = value.starts_with([':', '/', '\\', '=']);
        (is_name && !is_path_or_url).then(|| Self {
            word: word.to_owned(),
            name: name.to_owned(),
            value: value.to_owned(),
        })
    }
}
