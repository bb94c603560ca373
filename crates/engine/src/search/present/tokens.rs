//! Counts the tokens of a text with the cl100k tokenizer.

use std::sync::LazyLock;

use tiktoken::{CoreBpe, get_encoding};

#[expect(clippy::expect_used, reason = "Cargo.toml enables the vocabulary, and a test counts with it")]
static CL100K: LazyLock<&CoreBpe> =
    LazyLock::new(|| get_encoding("cl100k_base").expect("the feature of this vocabulary is enabled"));

/// The longest token of cl100k: spaces.
const TOKEN_BYTES_MAX: usize = 128;

/// Returns the number of tokens of `text`.
#[must_use]
pub fn count(text: &str) -> usize {
    CL100K.count(text)
}

/// Returns the number of tokens of `text`, or `None` if it exceeds `tokens_max`; does not count a text that is too long for them.
#[must_use]
pub fn within(text: &str, tokens_max: usize) -> Option<usize> {
    if text.len() > tokens_max.saturating_mul(TOKEN_BYTES_MAX) {
        return None;
    }
    Some(count(text)).filter(|tokens| *tokens <= tokens_max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_as_cl100k_does_and_respects_the_limit() {
        for (text, tokens) in [("", 0), ("hello world", 2), ("fn main() {}\n", 4)] {
            assert_eq!(count(text), tokens, "{text:?}");
            assert_eq!(within(text, tokens), Some(tokens), "{text:?}");
        }
        assert_eq!(within("hello world", 1), None);
        assert_eq!(within(&"word ".repeat(100_000), 3), None);
        let longest = " ".repeat(TOKEN_BYTES_MAX);
        assert_eq!((within(&longest, 1), within(&longest, 0)), (Some(1), None));
    }
}
