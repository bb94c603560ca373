//! How many tokens a text costs its reader, counted as cl100k does.

/// Tokens of `text`.
pub(super) fn count(text: &str) -> usize {
    bpe_openai::cl100k_base().count(text)
}
