//! Counts the tokens of a text with the cl100k tokenizer.

/// Returns the number of tokens of `text` in linear time.
#[must_use]
pub fn count(text: &str) -> usize {
    bpe_openai::cl100k_base().count(text)
}

/// Returns the number of tokens of `text`, or `None` if it exceeds `tokens_max`; stops soon after reaching the limit.
#[must_use]
pub fn within(text: &str, tokens_max: usize) -> Option<usize> {
    let tokenizer = bpe_openai::cl100k_base();
    tokenizer.count_till_limit(&tokenizer.normalize(text), tokens_max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_as_cl100k_does_and_stops_at_the_limit() {
        for (text, tokens) in [("", 0), ("hello world", 2), ("fn main() {}\n", 4)] {
            assert_eq!(count(text), tokens, "{text:?}");
            assert_eq!(within(text, tokens), Some(tokens), "{text:?}");
        }
        assert_eq!(within("hello world", 1), None);
        assert_eq!(within(&"word ".repeat(100_000), 3), None);
    }
}
