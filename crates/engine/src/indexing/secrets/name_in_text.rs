//! A name in a text, and the syntax between it and its value.

use std::ops::Range;

use super::file_format::FileFormat;

/// Longest part of a name on either side of the keyword, in bytes.
const NAME_BYTES_MAX: usize = 64;
/// Maximum number of spaces between a name and its value.
const SPACES_MAX: usize = 60;

/// The syntax between a name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    /// `=`, `:=`, `==`, `=>`, `||` and others; `tight` if it is `=` without spaces around it.
    Equals { tight: bool },
    /// `:`
    Colon,
    /// `(`; after a quoted name also `,` and `or`.
    Argument,
    /// `>` of an XML element.
    Element,
    /// Spaces alone.
    Spaces,
    /// `is`, in prose: "The API key is `…`".
    Is,
    /// `${NAME:-value}`
    Default,
    /// The end of a look-up by a quoted name, `var("NAME")`; only a default can follow it.
    Lookup,
}

/// A name and its position in the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct NameInText<'t> {
    pub(super) text: &'t str,
    pub(super) format: FileFormat,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Number of dashes before it: `--password` has two.
    pub(super) dashes: usize,
    /// `true` if it is quoted.
    pub(super) quoted: bool,
}

impl<'t> NameInText<'t> {
    /// Returns the name that contains `keyword`.
    pub(super) fn around(text: &'t str, keyword: Range<usize>, format: FileFormat) -> Option<Self> {
        let bytes = text.as_bytes();
        let before = bytes[..keyword.start]
            .iter()
            .rev()
            .take(NAME_BYTES_MAX)
            .take_while(|byte| is_name_byte(**byte))
            .count();
        let after =
            bytes[keyword.end..].iter().take(NAME_BYTES_MAX).take_while(|byte| is_name_byte(**byte)).count();
        let start = text.ceil_char_boundary(keyword.start - before);
        let mut end = text.floor_char_boundary(keyword.end + after);
        // `${NAME-value}`
        if text[..start].ends_with("${")
            && let Some((variable, _)) = text[start..end].split_once('-')
            && is_upper(variable)
        {
            end = start + variable.len();
        }
        let leading = bytes[start..end].iter().take_while(|byte| matches!(byte, b'-' | b'.')).count();
        let dashes = bytes[start..end].iter().take_while(|byte| **byte == b'-').count();
        let name = Self { text, format, start: start + leading, end, dashes, quoted: false };
        (name.start < name.end && !matches!(bytes[end - 1], b'-' | b'.')).then_some(name)
    }

    /// Returns the name itself.
    pub(super) fn name(&self) -> &'t str {
        &self.text[self.start..self.end]
    }

    /// Returns the byte before the name and its dashes.
    pub(super) fn byte_before(&self) -> Option<u8> {
        self.start.checked_sub(self.dashes + 1).map(|at| self.text.as_bytes()[at])
    }

    /// Returns the text before the name on its line, at most 120 bytes.
    pub(super) fn line_before(&self) -> &'t str {
        let from = self.text.ceil_char_boundary(self.start.saturating_sub(120));
        let before = &self.text[from..self.start];
        before.rsplit('\n').next().unwrap_or(before)
    }

    /// Extends the name `key` in prose by the word before it: `API key`.
    pub(super) fn with_word_before(self, operator: Operator) -> Self {
        const WORDS: [&str; 10] = [
            "api", "access", "secret", "auth", "private", "master", "license", "account", "encryption", "app",
        ];
        let is_prose = self.format == FileFormat::Prose || operator == Operator::Is;
        if !is_prose || self.dashes > 0 || !self.name().eq_ignore_ascii_case("key") {
            return self;
        }
        let Some(before) = self.line_before().strip_suffix(' ') else { return self };
        let word = before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        let is_known = WORDS.contains(&word.to_ascii_lowercase().as_str());
        if is_known { Self { start: self.start - word.len() - 1, ..self } } else { self }
    }

    pub(super) fn is_upper(&self) -> bool {
        is_upper(self.name())
    }
}

fn is_upper(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.') || byte >= 0x80
}

pub(super) fn space_count(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().take(SPACES_MAX).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}
