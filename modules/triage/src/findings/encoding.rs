//! Reads files in UTF-16 as text: PowerShell writes them if the output of a scanner is redirected to a file.

/// Returns the text in UTF-8 if it is UTF-16 with a byte order mark, otherwise unchanged. It grows by at most half, so the limit of a
/// file's size bounds it. Invalid characters are replaced.
pub(super) fn to_utf8(text: Vec<u8>) -> Vec<u8> {
    let unit: fn([u8; 2]) -> u16 = match text.as_slice() {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return text,
    };
    let (units, _) = text[2..].as_chunks::<2>();
    let characters = char::decode_utf16(units.iter().copied().map(unit));
    let text: String = characters.map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_orders_of_bytes_are_read_and_other_texts_stay() {
        let text = "[{\"title\": \"ä€𝄞\"}]";
        let encoded = |unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
            "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(unit).collect()
        };
        for file in [encoded(u16::to_le_bytes), encoded(u16::to_be_bytes), text.as_bytes().to_vec()] {
            assert_eq!(String::from_utf8(to_utf8(file)).unwrap(), text);
        }
        assert_eq!(
            to_utf8(vec![0xff, 0xfe, b'a', 0, 0, 0xd8, b'b']),
            "a\u{fffd}".as_bytes(),
            "it is cut off"
        );
        for file in [&b""[..], b"\xff", b"\xef\xbb\xbf[]", b"\xff\xfd"] {
            assert_eq!(to_utf8(file.to_vec()), file);
        }
    }
}
