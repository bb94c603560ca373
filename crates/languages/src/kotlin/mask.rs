//! Ends the last member of a body that closes on the same row, as the grammar demands it: it reads `class A { fun b() = 1; }`, but
//! loses the rest of the file after `class A { fun b() = 1 }`.

/// A bracket that is open.
struct Open {
    /// `None` if it is not a brace; `Some(true)` if it is the brace of a type's body.
    brace: Option<bool>,
    /// `true` if the head of a type began inside of it, but its body did not.
    heads: bool,
}

/// The text with a semicolon in place of the last space in such bodies, with all places as they were. `None` if there are none.
pub(super) fn masked(text: &str) -> Option<String> {
    let mut masking = Masking { bytes: text.as_bytes(), at: 0, ends: Vec::new() };
    masking.code();
    if masking.ends.is_empty() {
        return None;
    }
    let mut masked = text.as_bytes().to_vec();
    masking.ends.into_iter().for_each(|at| masked[at] = b';');
    String::from_utf8(masked).ok()
}

struct Masking<'t> {
    bytes: &'t [u8],
    at: usize,
    /// Positions of the missing semicolons.
    ends: Vec<usize>,
}

impl Masking<'_> {
    fn code(&mut self) {
        let mut open = vec![Open { brace: None, heads: false }];
        // The last byte on the row that is not blank, and whether it was a character of `::` or `.` before a word.
        let mut last = None;
        while let Some(byte) = self.bytes.get(self.at).copied() {
            let from = self.at;
            match (byte, self.bytes.get(self.at + 1)) {
                (b'/', Some(b'/')) => self.skip_to("\n"),
                (b'/', Some(b'*')) => self.skip_comment(),
                (b'"', _) => self.skip_string(),
                (b'\'', _) => self.skip_char(),
                _ if is_word(byte) => self.skip_word(),
                _ => self.at += 1,
            }
            let word = self.bytes.get(from..self.at).unwrap_or_default();
            bracket(&mut open, byte, word, last);
            if byte == b'}' {
                self.close(&mut open, from, last);
            }
            last = match byte {
                b'\n' => None,
                byte if byte.is_ascii_whitespace() => last,
                byte => Some(byte),
            };
        }
    }

    /// Closes a brace, and finds out whether the member before it has to be ended.
    fn close(&mut self, open: &mut Vec<Open>, at: usize, last: Option<u8>) {
        while open.len() > 1 {
            let Some(Open { brace: Some(is_type), .. }) = open.pop() else { continue };
            let follows_member = last.is_some_and(|last| !matches!(last, b'{' | b';' | b','));
            if is_type && follows_member && at > 0 && matches!(self.bytes[at - 1], b' ' | b'\t') {
                self.ends.push(at - 1);
            }
            return;
        }
    }

    fn skip_word(&mut self) {
        while self.bytes.get(self.at).copied().is_some_and(is_word) {
            self.at += 1;
        }
    }

    /// Goes on before the next `end`, or at the end of the text.
    fn skip_to(&mut self, end: &str) {
        while self.at < self.bytes.len() && !self.bytes[self.at..].starts_with(end.as_bytes()) {
            self.at += 1;
        }
    }

    /// Comments can be nested.
    fn skip_comment(&mut self) {
        let mut depth = 0;
        while self.at < self.bytes.len() {
            let rest = &self.bytes[self.at..];
            depth += i32::from(rest.starts_with(b"/*")) - i32::from(rest.starts_with(b"*/"));
            self.at += if rest.starts_with(b"/*") || rest.starts_with(b"*/") { 2 } else { 1 };
            if depth == 0 {
                return;
            }
        }
    }

    /// Skips a string, including the expressions between braces in it.
    fn skip_string(&mut self) {
        let is_raw = self.bytes[self.at..].starts_with(b"\"\"\"");
        self.at += if is_raw { 3 } else { 1 };
        let mut depth = 0_usize;
        while let Some(byte) = self.bytes.get(self.at).copied() {
            match byte {
                b'\\' if !is_raw => self.at += 1,
                b'$' if self.bytes.get(self.at + 1) == Some(&b'{') => {
                    (self.at, depth) = (self.at + 1, depth + 1)
                }
                b'{' if depth > 0 => depth += 1,
                b'}' => depth = depth.saturating_sub(1),
                b'\n' if !is_raw => return,
                b'"' if depth == 0 && !is_raw => {
                    self.at += 1;
                    return;
                }
                b'"' if depth == 0 && self.bytes[self.at..].starts_with(b"\"\"\"") => {
                    self.at += 3;
                    return;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    fn skip_char(&mut self) {
        self.at += 1;
        while let Some(byte) = self.bytes.get(self.at).copied() {
            self.at += 1;
            match byte {
                b'\\' => self.at += 1,
                b'\'' | b'\n' => return,
                _ => {}
            }
        }
    }
}

/// Follows brackets and the heads of types. Braces that close are left to the caller.
fn bracket(open: &mut Vec<Open>, byte: u8, word: &[u8], last: Option<u8>) {
    let Some(top) = open.last_mut() else { return };
    match (byte, word) {
        // `Type::class` does not begin a type.
        (_, b"class" | b"interface" | b"object") => {
            top.heads |= !matches!(last, Some(b':' | b'.')) || word == b"object"
        }
        (_, b"fun" | b"val" | b"var" | b"init" | b"typealias") | (b';', _) => top.heads = false,
        (b'{', _) => {
            let is_type = std::mem::take(&mut top.heads);
            open.push(Open { brace: Some(is_type), heads: false });
        }
        (b'(' | b'[', _) => open.push(Open { brace: None, heads: false }),
        (b')' | b']', _) if open.len() > 1 && open.last().is_some_and(|top| top.brace.is_none()) => {
            open.pop();
        }
        _ => {}
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_member_of_a_body_is_ended() {
        for (text, expected) in [
            ("class B { fun b() = 1 }", Some("class B { fun b() = 1;}")),
            ("class B(val v: Int) : C() { fun b() { } }", Some("class B(val v: Int) : C() { fun b() { };}")),
            ("companion object { const val X = 1 }", Some("companion object { const val X = 1;}")),
            (
                "run(object : R { override fun r() { f() } })",
                Some("run(object : R { override fun r() { f() };})"),
            ),
            ("class B { val x = \"${ a { 1 } }\" }", Some("class B { val x = \"${ a { 1 } }\";}")),
            ("class B { val x = '}' }", Some("class B { val x = '}';}")),
            ("class B { /* { */ val x = 1 }", Some("class B { /* { */ val x = 1;}")),
            ("class B { }", None),
            ("class B { fun b() = 1; }", None),
            ("class B {\n    fun b() = 1\n }", None),
            ("fun f() { g(A::class) { it } }", None),
            ("class A\nfun f() { 1 }", None),
            ("val x = \"class B { fun b() }\"", None),
        ] {
            assert_eq!(masked(text).as_deref(), expected, "{text}");
        }
    }
}
