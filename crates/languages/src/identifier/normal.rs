//! Equal texts: letters that are written as one character or as a letter with marks after it.

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// The text in the form in which texts are compared (NFC). Costs one look at each byte where nothing changes.
#[must_use]
pub fn nfc(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        return Cow::Borrowed(text);
    }
    let normal: String = text.nfc().collect();
    if normal == text { Cow::Borrowed(text) } else { Cow::Owned(normal) }
}

/// A text in the form in which it is compared, from which places lead back to the text as it is written.
#[derive(Debug)]
pub struct Mapped<'t> {
    /// The text as it is compared.
    pub text: Cow<'t, str>,
    /// The starts of the pieces that are normalised separately: in the compared text, and in the written one. Empty if both are equal.
    pieces: Vec<(usize, usize)>,
    written_bytes: usize,
}

impl<'t> Mapped<'t> {
    /// Normalises a text.
    #[must_use]
    pub fn new(written: &'t str) -> Self {
        let text = nfc(written);
        let mut pieces = Vec::new();
        if matches!(text, Cow::Owned(_)) {
            let (mut from, mut normal) = (0, 0);
            for (at, c) in written.char_indices() {
                // Marks at the start of a line belong to no letter, and so to no other line.
                if at > from && (begins_piece(c) || written[..at].ends_with('\n')) {
                    pieces.push((normal, from));
                    normal += written[from..at].nfc().map(char::len_utf8).sum::<usize>();
                    from = at;
                }
            }
            pieces.push((normal, from));
        }
        Self { text, pieces, written_bytes: written.len() }
    }

    /// The bytes of the written text that a range of the compared text is made of. What is composed with the ends of the range belongs
    /// to it.
    #[must_use]
    pub fn written(&self, range: Range<usize>) -> Range<usize> {
        if self.pieces.is_empty() {
            return range;
        }
        if range.start >= self.text.len() {
            return self.written_bytes..self.written_bytes;
        }
        let after = self.pieces.partition_point(|(normal, _)| *normal <= range.start);
        let start = after.checked_sub(1).map_or(0, |at| self.pieces[at].1);
        if range.is_empty() {
            return start..start;
        }
        let end = self.pieces.partition_point(|(normal, _)| *normal < range.end);
        let end = self.pieces.get(end).map_or(self.written_bytes, |(_, written)| *written);
        start..end.max(start)
    }
}

/// Checks whether a character never combines with the one before it.
fn begins_piece(c: char) -> bool {
    // The Kelvin sign itself is not normalised, but the letter that it becomes never combines with the character before it.
    let first = std::iter::once(c).nfd().next().unwrap_or(c);
    canonical_combining_class(first) == 0 && is_nfc_quick(std::iter::once(first)) == IsNormalized::Yes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn composed_and_decomposed_letters_are_one_text() {
        assert_eq!(nfc("Gro\u{308}\u{df}e"), "Gr\u{f6}\u{df}e");
        assert!(
            matches!(nfc("plain"), Cow::Borrowed(_)) && matches!(nfc("Gr\u{f6}\u{df}e"), Cow::Borrowed(_))
        );
        // Jamo of Hangul, and a letter with two marks in another order.
        assert_eq!(nfc("\u{1112}\u{1161}\u{11ab}"), "\u{d55c}");
        assert_eq!(nfc("a\u{323}\u{302}"), nfc("a\u{302}\u{323}"));
    }

    #[test]
    fn places_lead_back_to_the_written_text() {
        let written = "x Gro\u{308}\u{df}e y";
        let mapped = Mapped::new(written);
        let at = mapped.text.find("Gr\u{f6}\u{df}e").unwrap();
        let range = mapped.written(at..at + "Gr\u{f6}\u{df}e".len());
        assert_eq!(&written[range], "Gro\u{308}\u{df}e");
        let o = mapped.text.find('\u{f6}').unwrap();
        assert_eq!(&written[mapped.written(o..o + 2)], "o\u{308}");
        assert_eq!(mapped.written(mapped.text.len()..mapped.text.len()), written.len()..written.len());
    }

    proptest! {
        #[test]
        fn pieces_make_up_the_text(written in "[a-zo\u{300}-\u{310}\u{1100}-\u{1112}\u{1161}-\u{1175}\u{11a8}-\u{11c2}\u{f6} \n]{0,40}") {
            let mapped = Mapped::new(&written);
            prop_assert_eq!(&mapped.text, &written.nfc().collect::<String>());
            let whole = mapped.written(0..mapped.text.len());
            prop_assert_eq!(whole, 0..written.len());
            for (at, c) in mapped.text.char_indices() {
                let range = mapped.written(at..at + c.len_utf8());
                prop_assert!(written.is_char_boundary(range.start) && written.is_char_boundary(range.end));
                let piece: String = written[range].nfc().collect();
                prop_assert!(piece.contains(c));
            }
        }
    }
}
