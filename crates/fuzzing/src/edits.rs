//! Applies edits to a base file whose format is too large or too strict for random input.

/// Length of an edit's header: three bytes of offset and one byte of length.
const EDIT_HEADER_BYTES: usize = 4;

/// Applies the edits in `data` to `base`. Each edit is an offset (three bytes, big-endian, modulo the length), a count, and
/// that many replacement bytes. A count of zero truncates the file at the offset.
pub(super) fn apply_edits(base: &[u8], mut data: &[u8]) -> Vec<u8> {
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
        data = &data[EDIT_HEADER_BYTES + bytes.len()..];
    }
    file
}

#[cfg(test)]
mod tests {
    use super::apply_edits;

    #[test]
    fn edits_change_bytes_in_place() {
        assert_eq!(apply_edits(b"abcdef", &[]), b"abcdef");
        assert_eq!(apply_edits(b"abcdef", &[0, 0, 1, 2, b'X', b'Y', 0, 0, 11, 1, b'Z']), b"aXYdeZ");
        assert_eq!(apply_edits(b"abcdef", &[0, 0, 5, 9, b'X', b'Y']), b"abcdeX", "nothing grows");
        assert_eq!(apply_edits(b"abcdef", &[0, 0, 2, 0]), b"ab");
        assert_eq!(apply_edits(b"", &[0, 0, 2, 1, 1]), b"");
    }
}
