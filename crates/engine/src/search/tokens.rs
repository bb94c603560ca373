//! Counts the tokens of a text with the cl100k tokenizer.

/// Number of tokens of `text`; takes time linear in its length.
#[must_use]
pub fn count(text: &str) -> usize {
    bpe_openai::cl100k_base().count(text)
}

/// Number of tokens of `text`, or `None` if there are more than `most`; stops soon after that many.
#[must_use]
pub fn within(text: &str, most: usize) -> Option<usize> {
    let tokenizer = bpe_openai::cl100k_base();
    tokenizer.count_till_limit(&tokenizer.normalize(text), most)
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
