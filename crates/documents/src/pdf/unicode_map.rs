//! Reads the map of a font from codes to Unicode (`/ToUnicode`).

use std::collections::HashMap;

/// Maximum number of codes of a map; a code has at most two bytes in practice.
const CODES_MAX: usize = 70_000;
/// Maximum number of UTF-16 units for one code.
const UNITS_MAX: usize = 32;

/// A map from codes to texts.
#[derive(Debug, Default)]
pub(super) struct UnicodeMap {
    texts: HashMap<u32, String>,
    /// Bytes of most codes.
    code_bytes: usize,
    /// Number of codes that were read, including repetitions.
    read: usize,
}

/// A part of a map's source.
enum Token<'s> {
    /// A text in hexadecimal digits: its bytes.
    Bytes(Vec<u8>),
    /// `[` or `]`.
    Bracket(u8),
    /// Anything else.
    Word(&'s [u8]),
}

impl UnicodeMap {
    /// Reads a map; `None` if it has no codes.
    pub(super) fn parse(source: &[u8]) -> Option<Self> {
        let mut map = Self::default();
        let mut tokens = Tokens(source);
        // By the number of bytes, how many codes have it.
        let mut lengths = [0_usize; 5];
        while let Some(token) = tokens.next() {
            match token {
                Token::Word(b"beginbfchar") => map.read_characters(&mut tokens, &mut lengths),
                Token::Word(b"beginbfrange") => map.read_ranges(&mut tokens, &mut lengths),
                _ => {}
            }
        }
        map.code_bytes = if lengths[2] >= lengths[1] { 2 } else { 1 };
        (!map.texts.is_empty()).then_some(map)
    }

    /// Bytes of a code.
    pub(super) fn code_bytes(&self) -> usize {
        self.code_bytes
    }

    /// The text of a code.
    pub(super) fn get(&self, code: u32) -> Option<&str> {
        self.texts.get(&code).map(String::as_str)
    }

    /// `<code> <text>` up to `endbfchar`.
    fn read_characters(&mut self, tokens: &mut Tokens<'_>, lengths: &mut [usize; 5]) {
        while let Some(Token::Bytes(code)) = tokens.next() {
            let Some(Token::Bytes(text)) = tokens.next() else { return };
            count(lengths, &code);
            self.add(number(&code), &units(&text));
        }
    }

    /// `<first> <last> <text>`, where the last unit of the text counts on, or `<first> <last> [<text> …]`, up to `endbfrange`.
    fn read_ranges(&mut self, tokens: &mut Tokens<'_>, lengths: &mut [usize; 5]) {
        while let Some(Token::Bytes(first)) = tokens.next() {
            let Some(Token::Bytes(last)) = tokens.next() else { return };
            count(lengths, &first);
            let (first, last) = (number(&first), number(&last));
            match tokens.next() {
                Some(Token::Bytes(text)) => {
                    let mut text = units(&text);
                    for code in first..=last {
                        if self.read >= CODES_MAX {
                            return;
                        }
                        self.add(code, &text);
                        if let Some(unit) = text.last_mut() {
                            *unit = unit.wrapping_add(1);
                        }
                    }
                }
                Some(Token::Bracket(b'[')) => {
                    let mut code = first;
                    while let Some(Token::Bytes(text)) = tokens.next() {
                        if code <= last {
                            self.add(code, &units(&text));
                        }
                        code = code.saturating_add(1);
                    }
                }
                _ => return,
            }
        }
    }

    fn add(&mut self, code: u32, text: &[u16]) {
        if self.read < CODES_MAX {
            self.read += 1;
            self.texts.insert(code, String::from_utf16_lossy(text));
        }
    }
}

/// Counts the length of a code.
fn count(lengths: &mut [usize; 5], code: &[u8]) {
    if let Some(length) = lengths.get_mut(code.len()) {
        *length += 1;
    }
}

/// The number of a code, whose last four bytes count.
fn number(code: &[u8]) -> u32 {
    code.iter().fold(0, |number, byte| (number << 8) | u32::from(*byte))
}

/// The UTF-16 units of a text; a single byte is a unit.
fn units(text: &[u8]) -> Vec<u16> {
    if let [byte] = text {
        return vec![u16::from(*byte)];
    }
    let (pairs, _) = text.as_chunks::<2>();
    pairs.iter().take(UNITS_MAX).map(|pair| u16::from_be_bytes(*pair)).collect()
}

/// The rest of a map's source.
struct Tokens<'s>(&'s [u8]);

impl<'s> Tokens<'s> {
    fn next(&mut self) -> Option<Token<'s>> {
        self.0 = self.0.trim_ascii_start();
        let (first, rest) = self.0.split_first()?;
        match first {
            b'[' | b']' => {
                self.0 = rest;
                Some(Token::Bracket(*first))
            }
            b'<' if rest.first() != Some(&b'<') => {
                let end = rest.iter().position(|byte| *byte == b'>').unwrap_or(rest.len());
                let (digits, after) = rest.split_at(end);
                self.0 = after.get(1..).unwrap_or_default();
                Some(Token::Bytes(bytes(digits)))
            }
            _ => {
                let is_end =
                    |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'[' | b']' | b'<' | b'>');
                // The first byte always belongs to the word, so that each step gets ahead.
                let length = 1 + rest.iter().position(is_end).unwrap_or(rest.len());
                let (word, after) = self.0.split_at(length);
                self.0 = after;
                Some(Token::Word(word))
            }
        }
    }
}

/// The bytes that hexadecimal digits spell.
fn bytes(digits: &[u8]) -> Vec<u8> {
    let digits = digits.iter().filter_map(|digit| char::from(*digit).to_digit(16));
    let digits: Vec<u32> = digits.take(4 * UNITS_MAX).collect();
    digits
        .chunks(2)
        .filter_map(|pair| {
            let low = pair.get(1).copied().unwrap_or(0);
            u8::try_from(16 * pair.first()? + low).ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_ranges_and_lists_are_read() {
        let source = b"/CIDInit /ProcSet findresource begin << /Registry (Adobe) >> def
            1 begincodespacerange <0000> <FFFF> endcodespacerange
            2 beginbfchar <0003> <0020> <0004><00660069> endbfchar
            2 beginbfrange <0010> <0012> <0041> <0020> <0021> [<0078> <0079>] endbfrange end";
        let map = UnicodeMap::parse(source).unwrap();
        assert_eq!(map.code_bytes(), 2);
        let text: Vec<_> =
            [3, 4, 0x10, 0x12, 0x20, 0x21, 0x22].map(|code| map.get(code).unwrap_or("-")).into();
        assert_eq!(text, [" ", "fi", "A", "C", "x", "y", "-"]);
    }

    #[test]
    fn a_map_of_single_bytes_has_codes_of_one_byte() {
        let map = UnicodeMap::parse(b"1 beginbfchar <41> <0042> endbfchar").unwrap();
        assert_eq!((map.code_bytes(), map.get(0x41)), (1, Some("B")));
    }

    #[test]
    fn hostile_maps_are_bounded() {
        assert!(UnicodeMap::parse(b"").is_none());
        for source in ["beginbfchar <", "beginbfrange <00> <", "beginbfrange <00> <01> [", "<<<<", "<zz> <>"]
        {
            assert!(UnicodeMap::parse(source.as_bytes()).is_none_or(|map| map.texts.len() < 2), "{source}");
        }
        let map = UnicodeMap::parse(b"beginbfrange <00000000> <ffffffff> <0041> endbfrange").unwrap();
        assert_eq!(map.texts.len(), CODES_MAX);
    }
}
