//! The bound of texts in indexes: tables hold longer texts than indexes do.

/// Longest text in an index, in bytes. Postgres refuses index rows of more than about 2,700 bytes (54000), and a row also has
/// the other columns of the index.
pub const INDEXED_TEXT_BYTES_MAX: usize = 2_000;

/// The beginning of a text, as much as an index holds.
pub(crate) fn indexable(text: &str) -> &str {
    &text[..text.floor_char_boundary(INDEXED_TEXT_BYTES_MAX)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_texts_are_cut_and_only_between_characters() {
        for text in ["", "a", &"a".repeat(INDEXED_TEXT_BYTES_MAX)] {
            assert_eq!(indexable(text), text);
        }
        assert_eq!(indexable(&"a".repeat(5_000)).len(), INDEXED_TEXT_BYTES_MAX);
        assert_eq!(indexable(&"\u{20ac}".repeat(1_000)).len(), 1_998);
    }
}
