//! Recognises UTF-16 without a byte order mark, which has NUL beside each letter of ASCII, and so looks like a binary file.

/// The order of the bytes of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    /// The low byte first.
    Little,
    /// The high byte first.
    Big,
}

/// Bytes at the beginning that are examined.
const EXAMINED_BYTES: usize = 4096;
/// Minimum number of units that are examined; fewer prove nothing.
const UNITS_MIN: usize = 8;

/// Returns the byte order of a text that is probably UTF-16: at least half of the units have NUL on one side, and hardly any on the
/// other.
pub(crate) fn unmarked_utf16(bytes: &[u8]) -> Option<ByteOrder> {
    let (units, _) = bytes[..bytes.len().min(EXAMINED_BYTES)].as_chunks::<2>();
    let zeros = |at: usize| units.iter().filter(|unit| unit[at] == 0).count();
    let (first, second) = (zeros(0), zeros(1));
    let is_side = |many: usize, few: usize| 2 * many >= units.len() && 50 * few <= units.len();
    let is_text = units.len() >= UNITS_MIN && !units.contains(&[0, 0]);
    match is_text {
        true if is_side(second, first) => Some(ByteOrder::Little),
        true if is_side(first, second) => Some(ByteOrder::Big),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_differs_from_numbers() {
        let text = "export function drawBadge() { return 'ü€'; }\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(unmarked_utf16(&little), Some(ByteOrder::Little));
        assert_eq!(unmarked_utf16(&big), Some(ByteOrder::Big));
        assert_eq!(unmarked_utf16(text.as_bytes()), None);
        let numbers: Vec<u8> = (0_u32..100).flat_map(u32::to_le_bytes).collect();
        assert_eq!(unmarked_utf16(&numbers), None, "units of two NUL are no text");
        assert_eq!(unmarked_utf16(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0\x01\0\0\0"), None);
        assert_eq!(unmarked_utf16(b"a\0"), None);
    }
}
