//! Edits of a file that is too large or too strict to be found by chance: a list of places with the bytes that go there.

/// Bytes before those that an edit brings: where it goes, in three, and how many it brings, in one.
const HEAD: usize = 4;

/// `base` with the edits of `data`: a place (three bytes, big-endian, modulo the length), a count, and as many bytes. A count
/// of zero cuts the file off there.
pub(super) fn apply(base: &[u8], mut data: &[u8]) -> Vec<u8> {
    let mut file = base.to_vec();
    while let [a, b, c, count, rest @ ..] = data {
        let bytes = &rest[..rest.len().min(usize::from(*count))];
        let at = (usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c)) % file.len().max(1);
        if *count == 0 {
            file.truncate(at);
        }
        let from = at.min(file.len());
        for (old, new) in file[from..].iter_mut().zip(bytes) {
            *old = *new;
        }
        data = &data[HEAD + bytes.len()..];
    }
    file
}

#[cfg(test)]
mod tests {
    use super::apply;

    #[test]
    fn edits_change_bytes_in_place() {
        assert_eq!(apply(b"abcdef", &[]), b"abcdef");
        assert_eq!(apply(b"abcdef", &[0, 0, 1, 2, b'X', b'Y', 0, 0, 11, 1, b'Z']), b"aXYdeZ");
        assert_eq!(apply(b"abcdef", &[0, 0, 5, 9, b'X', b'Y']), b"abcdeX", "nothing grows");
        assert_eq!(apply(b"abcdef", &[0, 0, 2, 0]), b"ab");
        assert_eq!(apply(b"", &[0, 0, 2, 1, 1]), b"");
    }
}
