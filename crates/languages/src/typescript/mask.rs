//! Ends the member of an interface before a call signature that begins a line with its type parameters, as the grammar demands it:
//! it takes `(a: A): B` and, on the next line, `<T>(b: T): C` for one type, and loses the rest of the interface.

/// Text that can begin a line before an interface's name.
const HEADS: &[&str] = &[
    "interface ", "export interface ", "declare interface ", "export declare interface ",
    "export default interface ",
];

/// The text with a semicolon in place of the last blank before such signatures, with all places as they were. `None` if there are none.
pub(crate) fn masked(text: &str) -> Option<String> {
    let mut ends = Vec::new();
    let (mut at, mut done) = (0, 0);
    for line in text.split_inclusive('\n') {
        if at >= done && is_head(line) {
            let mut masking = Masking { bytes: text.as_bytes(), at, ends: &mut ends };
            masking.interface();
            done = masking.at;
        }
        at += line.len();
    }
    if ends.is_empty() {
        return None;
    }
    let mut masked = text.as_bytes().to_vec();
    ends.into_iter().for_each(|at| masked[at] = b';');
    String::from_utf8(masked).ok()
}

/// Checks whether an interface begins in a line, and not a sentence of a comment.
fn is_head(line: &str) -> bool {
    let line = line.trim();
    let Some(rest) = HEADS.iter().find_map(|head| line.strip_prefix(head)) else { return false };
    let rest = rest.trim_start().trim_start_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$'));
    let rest = rest.trim_start();
    rest.is_empty() || rest.starts_with(['{', '<']) || rest.starts_with("extends ")
}

struct Masking<'t> {
    bytes: &'t [u8],
    at: usize,
    /// Positions of the missing semicolons.
    ends: &'t mut Vec<usize>,
}

impl Masking<'_> {
    /// Goes through an interface to its end.
    fn interface(&mut self) {
        // The brackets that are open, and how many type arguments of the head are.
        let (mut open, mut angles) = (Vec::new(), 0_usize);
        // The byte before that is neither blank nor of a comment, and whether a line begins.
        let (mut last, mut begins) = (b'{', false);
        while let Some(byte) = self.bytes.get(self.at).copied() {
            let from = self.at;
            self.at += 1;
            match (byte, self.bytes.get(self.at)) {
                (b'/', Some(b'/')) => self.skip_to(b"\n"),
                (b'/', Some(b'*')) => self.skip_to(b"*/"),
                (b'\n', _) => begins = true,
                _ if byte.is_ascii_whitespace() => {}
                _ => {
                    if byte == b'<' && begins && open.last() == Some(&b'{') {
                        self.end_before(from, last);
                    }
                    match byte {
                        b'"' | b'\'' | b'`' => self.skip_string(byte),
                        b'{' | b'(' | b'[' => open.push(byte),
                        b'}' | b')' | b']' => {
                            open.pop();
                            if open.is_empty() && angles == 0 {
                                return;
                            }
                        }
                        b'<' if open.is_empty() => angles += 1,
                        b'>' if open.is_empty() && last != b'=' => angles = angles.saturating_sub(1),
                        _ => {}
                    }
                    // An arrow does not end a type.
                    last = if byte == b'>' && last == b'=' { b'=' } else { byte };
                    begins = false;
                }
            }
        }
    }

    /// Ends the member before a signature, if its type is complete.
    fn end_before(&mut self, at: usize, last: u8) {
        let is_complete = last.is_ascii_alphanumeric() || last >= 0x80 || b"_$>)]}\"'`".contains(&last);
        if is_complete && at > 0 && matches!(self.bytes[at - 1], b' ' | b'\t') {
            self.ends.push(at - 1);
        }
    }

    /// Continues after `end`, or at the end of the text. A line's end is left.
    fn skip_to(&mut self, end: &[u8]) {
        while self.at < self.bytes.len() && !self.bytes[self.at..].starts_with(end) {
            self.at += 1;
        }
        self.at += if end == b"\n" { 0 } else { end.len() };
    }

    fn skip_string(&mut self, quote: u8) {
        while let Some(byte) = self.bytes.get(self.at).copied() {
            self.at += 1;
            match byte {
                b'\\' => self.at += 1,
                b'\n' if quote != b'`' => return,
                byte if byte == quote => return,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_before_generic_signatures_are_ended() {
        for (text, expected) in [
            (
                "interface A {\n  (a: B): C\n  <T>(t: T): D\n}",
                Some("interface A {\n  (a: B): C\n ;<T>(t: T): D\n}"),
            ),
            (
                "export interface A<E = {}> {\n  b: C<D>\n\n  // d\n  <T>(): D }",
                Some("export interface A<E = {}> {\n  b: C<D>\n\n  // d\n ;<T>(): D }"),
            ),
            (
                "interface A {\n  b: { (): c\n  <T>(): d }\n}",
                Some("interface A {\n  b: { (): c\n ;<T>(): d }\n}"),
            ),
            ("interface A {\n  b: \"}\"\n  <T>(): d\n}", Some("interface A {\n  b: \"}\"\n ;<T>(): d\n}")),
            ("interface A {\n  <T>(t: T): D\n}", None),
            ("interface A {\n  (a: B): C;\n  <T>(t: T): D,\n  <U>(): E\n}", None),
            ("interface A {\n  b: () =>\n  <T>(t: T) => D\n}", None),
            ("interface A {\n  b: C |\n  <T>(t: T) => D\n  f(\n   <T>() => void\n  ): E\n}", None),
            ("interface A {\n  b: C\n}\nlet d = a\n  <T>b", None),
            ("interface A {\n  (): C\n<T>(): D\n}", None),
            ("let a = b\n  < c", None),
            ("/*\ninterface of a\n*/\n{\n  a\n  < b\n}", None),
        ] {
            assert_eq!(masked(text).as_deref(), expected, "{text}");
        }
    }
}
