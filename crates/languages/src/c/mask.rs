//! Hides macros between the words of a declaration from the grammars of C and C++, which would take them for types:
//! `class LIB_EXPORT Name {`, `LIB_API void f();`.

/// Ends of the names of macros that say how something is linked or compiled.
const ENDINGS: &[&str] = &[
    "_API", "_CONSTEXPR", "_CONSTEXPR14", "_CONSTEXPR17", "_CONSTEXPR20", "_DECL", "_DEPRECATED", "_DLL",
    "_EXPORT", "_EXPORTS", "_FORCEINLINE", "_IMPORT", "_INLINE", "_NODISCARD", "_NOINLINE", "_PUBLIC",
    "_VISIBLE",
];

/// Ends of the names of macros that open or close a namespace.
const BORDERS: &[&str] = &[
    "BEGIN_EXPORT", "BEGIN_NAMESPACE", "END_EXPORT", "END_NAMESPACE", "EXPORT_BEGIN", "EXPORT_END",
    "NAMESPACE_BEGIN", "NAMESPACE_END",
];

/// The text with such macros blank, with all places as they were. `None` if there are none.
pub(crate) fn masked(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut hidden: Vec<std::ops::Range<usize>> = Vec::new();
    let mut words = Words { bytes, at: 0 };
    // The previous word; empty unless only whitespace separates it from the current one.
    let mut before: &str = "";
    while let Some(word) = words.next() {
        let name = text.get(word.clone()).unwrap_or_default();
        let follows = words.follows();
        let is_between = follows.is_some_and(|byte| is_word(byte) || byte == b'~' || byte == b':');
        let is_marked = is_between && is_macro(name) && ENDINGS.iter().any(|ending| name.ends_with(ending));
        let heads_class =
            matches!(before, "class" | "struct" | "union") && is_macro(name) && words.opens_class();
        let is_border =
            is_macro(name) && follows != Some(b'(') && BORDERS.iter().any(|border| name.ends_with(border));
        if is_marked || heads_class || is_border {
            hidden.push(word.clone());
        }
        before = if follows.is_some_and(is_word) { name } else { "" };
    }
    if hidden.is_empty() {
        return None;
    }
    let mut masked = text.as_bytes().to_vec();
    for range in hidden {
        masked[range].fill(b' ');
    }
    String::from_utf8(masked).ok()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_macro(name: &str) -> bool {
    name.len() >= 3
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// The words of a text outside of comments, literals and preprocessor lines.
struct Words<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl Words<'_> {
    fn next(&mut self) -> Option<std::ops::Range<usize>> {
        let mut begins_line = self.at == 0;
        while let Some(byte) = self.bytes.get(self.at).copied() {
            if is_word(byte) {
                let from = self.at;
                while self.bytes.get(self.at).copied().is_some_and(is_word) {
                    self.at += 1;
                }
                return Some(from..self.at);
            }
            match (byte, self.bytes.get(self.at + 1)) {
                (b'#', _) if begins_line => self.skip_line(),
                (b'/', Some(b'/')) => self.skip_line(),
                (b'/', Some(b'*')) => self.skip_comment(),
                (b'"' | b'\'', _) => self.skip_literal(byte),
                _ => self.at += 1,
            }
            begins_line = byte == b'\n' || (begins_line && byte.is_ascii_whitespace());
        }
        None
    }

    /// Goes to the end of the line; a backslash continues it.
    fn skip_line(&mut self) {
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b'\n' => return,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    fn skip_comment(&mut self) {
        self.at += 2;
        while self.at < self.bytes.len() && !self.bytes[self.at..].starts_with(b"*/") {
            self.at += 1;
        }
        self.at += 2;
    }

    fn skip_literal(&mut self, quote: u8) {
        self.at += 1;
        while let Some(byte) = self.bytes.get(self.at).copied() {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == quote || byte == b'\n' {
                return;
            }
        }
    }

    /// Returns the first byte after the word that is not whitespace.
    fn follows(&self) -> Option<u8> {
        self.bytes.get(self.at..)?.iter().copied().find(|byte| !byte.is_ascii_whitespace())
    }

    /// Checks whether a name follows, and then the body or the bases of a class.
    fn opens_class(&self) -> bool {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let rest = &rest[..rest.len().min(400)];
        let rest = rest.trim_ascii_start();
        let end = rest.iter().position(|byte| !is_word(*byte)).unwrap_or(0);
        let after = rest[end..].trim_ascii_start();
        let after = after.strip_prefix(b"final").map_or(after, <[u8]>::trim_ascii_start);
        end > 0 && (after.starts_with(b"{") || (after.starts_with(b":") && !after.starts_with(b"::")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macros_between_the_words_of_a_declaration_are_hidden() {
        let hidden = |text: &str| masked(text).unwrap_or_else(|| "as it was".to_owned());
        assert_eq!(hidden("class LIB_EXPORT Name {"), "class            Name {");
        assert_eq!(hidden("class MARK Name final : public B {"), "class      Name final : public B {");
        assert_eq!(hidden("LIB_API void f();"), "        void f();");
        assert_eq!(
            hidden("A_BEGIN_NAMESPACE\nint a;\nA_END_NAMESPACE"),
            "                 \nint a;\n               "
        );
        assert_eq!(hidden("struct DATA data;"), "as it was");
        assert_eq!(hidden("#define LIB_API x y\nint LIB_API;"), "as it was");
        assert_eq!(hidden("// LIB_API x\n\"LIB_API x\" /* LIB_API x */"), "as it was");
        assert_eq!(hidden("é LIB_API é \"\\"), "as it was");
    }
}
