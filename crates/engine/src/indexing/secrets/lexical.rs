//! Divides source text into the contents of strings and comments, and the code between them. Linear in the text.
//!
//! This is not a parser: a string that it does not recognise counts as code, which redaction changes more cautiously.

use std::ops::Range;

use super::syntaxes::{Code, Escape, Extra, Quote, Syntax};

/// Maximum depth of code inside strings inside code.
const DEPTH_MAX: usize = 6;
/// Longest delimiter of a raw string, and longest word that ends a here-document, in bytes.
const DELIMITER_BYTES_MAX: usize = 64;

/// The content of a string or comment, or the part of it between two holes, without delimiters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) range: Range<usize>,
    pub(super) kind: PieceKind,
    /// `true` if a backslash escapes the next character.
    pub(super) escapes: bool,
    /// The quote that is doubled inside it.
    pub(super) doubled: Option<u8>,
    /// `true` if it is the whole text between its delimiters.
    pub(super) complete: bool,
}

/// The kind of a [`Piece`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PieceKind {
    Comment,
    Text,
    /// A string that ends with brackets.
    InBrackets,
    Regex,
}

/// Returns the contents of strings and comments, in order.
pub(super) fn pieces(text: &str, syntax: &'static Syntax) -> Vec<Piece> {
    let unclosed = vec![0; syntax.strings.len() + syntax.comments.len()];
    let mut lexer = Lexer {
        bytes: text.as_bytes(),
        syntax,
        pieces: Vec::new(),
        unclosed,
        no_regex_before: 0,
        hashes_max: usize::MAX,
        raw: true,
    };
    let _ = lexer.code(0, None, 0);
    lexer.pieces
}

/// The end of code inside a string.
#[derive(Clone, Copy)]
struct HoleEnd {
    close: &'static [u8],
    /// `true` if the end must be on the same line.
    same_line: bool,
}

struct Lexer<'t> {
    bytes: &'t [u8],
    syntax: &'static Syntax,
    pieces: Vec<Piece>,
    /// For each kind of string and comment, the position before which no further one ends.
    unclosed: Vec<usize>,
    /// The position before which no further regular expression ends.
    no_regex_before: usize,
    /// A raw string with this many hashes or more does not end.
    hashes_max: usize,
    /// `true` if raw strings and here-documents with words end.
    raw: bool,
}

impl Lexer<'_> {
    /// Reads code up to the end of the hole, whose position it returns, or to the end of the text.
    fn code(&mut self, mut at: usize, hole: Option<HoleEnd>, depth: usize) -> Option<usize> {
        let mut nested = 0_usize;
        let mut in_tag = false;
        let mut heredocs: Vec<Vec<u8>> = Vec::new();
        while let Some(&byte) = self.bytes.get(at) {
            if let Some(HoleEnd { close, same_line }) = hole {
                let (opening, closing) = if close == b")" { (b'(', b')') } else { (b'{', b'}') };
                if nested == 0 && byte == closing {
                    return Some(at);
                }
                nested += usize::from(byte == opening);
                nested -= usize::from(byte == closing);
                if byte == b'\n' && same_line {
                    return None;
                }
            }
            if self.syntax.code == Code::Prose && matches!(byte, b'<' | b'>') {
                in_tag = byte == b'<'
                    && self.bytes.get(at + 1).is_some_and(|next| next.is_ascii_alphabetic() || *next == b'?');
            }
            if byte == b'\n' && !heredocs.is_empty() {
                at = self.heredocs(at + 1, std::mem::take(&mut heredocs));
                continue;
            }
            at = self.token(at, depth, in_tag, &mut heredocs).unwrap_or(at + 1);
        }
        hole.is_none().then_some(at)
    }

    /// Returns the end of the string or comment that begins at `at`.
    fn token(&mut self, at: usize, depth: usize, in_tag: bool, heredocs: &mut Vec<Vec<u8>>) -> Option<usize> {
        let byte = self.bytes[at];
        if byte.is_ascii_alphanumeric() && byte != b'R' || matches!(byte, b' ' | b'_') {
            return None;
        }
        if byte == b'\\' && !self.starts(at, b"\\\\") {
            return Some(at + 2);
        }
        self.special(at, heredocs)
            .or_else(|| self.comment(at))
            .or_else(|| self.regex(at))
            .or_else(|| self.character(at))
            .or_else(|| self.string(at, depth, in_tag))
    }

    fn starts(&self, at: usize, start: &[u8]) -> bool {
        self.bytes.get(at..).is_some_and(|rest| rest.starts_with(start))
    }

    fn before(&self, at: usize) -> Option<u8> {
        at.checked_sub(1).map(|at| self.bytes[at])
    }

    fn push(&mut self, range: Range<usize>, kind: PieceKind, escapes: bool) {
        self.pieces.push(Piece { range, kind, escapes, doubled: None, complete: true });
    }

    /// Returns the position of `end` at or after `at`.
    fn find(&self, at: usize, end: &[u8]) -> Option<usize> {
        let rest = self.bytes.get(at..)?;
        rest.windows(end.len()).position(|window| window == end).map(|found| at + found)
    }

    fn line_end(&self, at: usize) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        let end = at + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        end - usize::from(end > at && self.bytes[end - 1] == b'\r')
    }

    fn comment(&mut self, at: usize) -> Option<usize> {
        let number = self.syntax.comments.iter().position(|(open, _)| self.starts(at, open.as_bytes()))?;
        let (open, close) = self.syntax.comments[number];
        let before = self.before(at);
        let begins = match open {
            // `https://`
            "//" => before != Some(b':'),
            // `#[…]` of PHP.
            "#" if self.syntax.has(Extra::PhpHeredoc) => !self.starts(at, b"#["),
            "#" if self.syntax.has(Extra::CommentAfterSpace) => before
                .is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b';' | b'(' | b'&' | b'|')),
            _ => true,
        };
        let start = at + open.len();
        if !begins {
            return None;
        }
        if close == "\n" {
            let end = self.line_end(start);
            self.push(start..end, PieceKind::Comment, false);
            return Some(end);
        }
        let known = &mut self.unclosed[self.syntax.strings.len() + number];
        if at < *known {
            return None;
        }
        *known = self.bytes.len();
        let end = self.comment_end(start, (open.as_bytes(), close.as_bytes()))?;
        self.unclosed[self.syntax.strings.len() + number] = 0;
        self.push(start..end, PieceKind::Comment, false);
        Some(end + close.len())
    }

    /// Returns the position of the end of a comment of several lines.
    fn comment_end(&self, start: usize, (open, close): (&[u8], &[u8])) -> Option<usize> {
        let nests = self.syntax.has(Extra::NestedComments);
        let mut depth = 1;
        let mut at = start;
        while at < self.bytes.len() {
            if self.starts(at, close) {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
                at += close.len();
            } else if nests && self.starts(at, open) {
                depth += 1;
                at += open.len();
            } else {
                at += 1;
            }
        }
        None
    }

    fn string(&mut self, at: usize, depth: usize, in_tag: bool) -> Option<usize> {
        if self.syntax.has(Extra::QuoteInTag) && !in_tag {
            return None;
        }
        for (number, quote) in self.syntax.strings.iter().enumerate() {
            if at < self.unclosed[number]
                || !self.starts(at, quote.open.as_bytes())
                || !self.may_open(at, quote)
            {
                continue;
            }
            let pieces = self.pieces.len();
            match self.content(at + quote.open.len(), at, quote, depth) {
                Some(end) => return Some(end + quote.close.len()),
                None => {
                    self.pieces.truncate(pieces);
                    self.unclosed[number] = if quote.lines { self.bytes.len() } else { self.line_end(at) };
                }
            }
        }
        None
    }

    /// Returns whether a string may begin here, as opposed to an apostrophe after a word.
    fn may_open(&self, at: usize, quote: &Quote) -> bool {
        let Some(before) = self.before(at) else { return true };
        if self.syntax.has(Extra::QuoteAfterSpace) {
            return before.is_ascii_whitespace() || matches!(before, b'[' | b'{' | b',' | b'(' | b':');
        }
        if !quote.open.starts_with('\'') || self.syntax.has(Extra::QuoteAfterWord) {
            return true;
        }
        // `b'…'`, `N'…'`, but not `don't`.
        let word =
            self.bytes[..at].iter().rev().take(3).take_while(|byte| byte.is_ascii_alphanumeric()).count();
        word < 3 && before < 0x80
    }

    /// Reads the content of a string; returns the position of its end.
    fn content(&mut self, start: usize, opened: usize, quote: &Quote, depth: usize) -> Option<usize> {
        let close = quote.close.as_bytes();
        let hole = quote.hole.filter(|_| depth < DEPTH_MAX && self.has_holes(opened));
        let doubled = (quote.escape == Escape::Doubled).then(|| close[0]);
        let escapes = quote.escape == Escape::Backslash;
        let piece = |range, complete| Piece { range, kind: PieceKind::Text, escapes, doubled, complete };
        let (mut from, mut at, mut complete) = (start, start, true);
        loop {
            let byte = *self.bytes.get(at)?;
            let at_hole = hole.filter(|(open, _)| self.starts(at, open.as_bytes()));
            if let Some((open, hole_close)) = at_hole {
                // `{{` in a format string.
                if open == "{" && self.starts(at, b"{{") {
                    at += 2;
                    continue;
                }
                self.pieces.push(piece(from..at, false));
                let end = HoleEnd { close: hole_close.as_bytes(), same_line: !quote.lines };
                from = self.code(at + open.len(), Some(end), depth + 1)? + hole_close.len();
                (at, complete) = (from, false);
            } else if self.starts(at, close) {
                if doubled.is_some() && self.starts(at + 1, close) {
                    at += 2;
                    continue;
                }
                self.pieces.push(piece(from..at, complete));
                return Some(at);
            } else if byte == b'\\' && escapes {
                at += 2;
            } else if byte == b'\n' && !quote.lines {
                return None;
            } else {
                at += 1;
            }
        }
    }

    /// Returns whether the string that begins here can contain code.
    fn has_holes(&self, opened: usize) -> bool {
        let mut prefix =
            self.bytes[..opened].iter().rev().take(2).take_while(|byte| byte.is_ascii_alphabetic());
        !self.syntax.has(Extra::FormatPrefix)
            || prefix.any(|byte| matches!(byte.to_ascii_lowercase(), b'f' | b't'))
    }

    /// Returns the end of a character literal, `'a'` or `'\n'`, but not of the lone `'` of a lifetime or a number.
    fn character(&self, at: usize) -> Option<usize> {
        if self.bytes[at] != b'\'' || !self.syntax.has(Extra::Characters) {
            return None;
        }
        let follows_word = self.before(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let first = if self.starts(at + 1, b"\\") { at + 3 } else { at + 2 };
        let window = self.bytes.get(first..).unwrap_or_default();
        let longest = if first == at + 3 { 10 } else { 4 };
        let end = window.iter().take(longest).position(|byte| matches!(byte, b'\'' | b'\n' | b' ' | b','));
        let closes = end.is_some_and(|end| window[end] == b'\'') && !follows_word;
        Some(if closes { first + end.unwrap_or_default() + 1 } else { at + 1 })
    }

    /// Returns the end of a regular expression between slashes.
    fn regex(&mut self, at: usize) -> Option<usize> {
        let may_begin = self.bytes[at] == b'/' && self.syntax.has(Extra::Regexes);
        if !may_begin || at < self.no_regex_before || !self.expects_value(at) {
            return None;
        }
        let mut in_class = false;
        let mut end = at + 1;
        loop {
            match self.bytes.get(end).unwrap_or(&b'\n') {
                b'\n' => {
                    self.no_regex_before = end;
                    return None;
                }
                b'\\' => end += 1,
                b'[' => in_class = true,
                b']' => in_class = false,
                b'/' if !in_class => break,
                _ => {}
            }
            end += 1;
        }
        self.push(at + 1..end, PieceKind::Regex, true);
        Some(end + 1)
    }

    /// Returns whether a value, rather than an operator, is expected here.
    fn expects_value(&self, at: usize) -> bool {
        let before = self.bytes[..at]
            .iter()
            .rev()
            .take(DELIMITER_BYTES_MAX)
            .take_while(|byte| matches!(byte, b' ' | b'\t'));
        let end = at - before.count();
        match self.before(end) {
            None => true,
            Some(byte) if byte.is_ascii_alphanumeric() => {
                let letters =
                    self.bytes[..end].iter().rev().take(8).take_while(|byte| byte.is_ascii_alphanumeric());
                let word = &self.bytes[end - letters.count()..end];
                [&b"return"[..], b"typeof", b"case", b"in", b"of", b"when", b"if", b"unless", b"and", b"or"]
                    .contains(&word)
            }
            Some(byte) => b"(,=:[!&|?{;+~\n".contains(&byte),
        }
    }

    /// Returns the end of a string whose end depends on its beginning.
    fn special(&mut self, at: usize, heredocs: &mut Vec<Vec<u8>>) -> Option<usize> {
        for extra in self.syntax.extras {
            let end = match extra {
                Extra::RustRaw => self.hashes(at, true),
                Extra::SwiftRaw => self.hashes(at, false),
                Extra::CppRaw => self.cpp_raw(at),
                Extra::LongBrackets => self.long_bracket(at),
                Extra::ShellHeredoc => self.heredoc(at, b"<<", b"-", heredocs),
                Extra::RubyHeredoc => self.heredoc(at, b"<<", b"-~", heredocs),
                Extra::PhpHeredoc => self.heredoc(at, b"<<<", b" ", heredocs),
                _ => None,
            };
            if end.is_some() {
                return end;
            }
        }
        None
    }

    /// Returns the end of `#"…"#` with any number of hashes; after `r`, even without hashes.
    fn hashes(&mut self, at: usize, after_r: bool) -> Option<usize> {
        if !matches!(self.bytes[at], b'#' | b'"') || (self.before(at) == Some(b'r')) != after_r {
            return None;
        }
        let hashes =
            self.bytes[at..].iter().take(DELIMITER_BYTES_MAX).take_while(|byte| **byte == b'#').count();
        let start = at + hashes + 1;
        if !self.starts(start - 1, b"\"") || hashes >= self.hashes_max || !after_r && hashes == 0 {
            return None;
        }
        let close: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
        let Some(end) = self.find(start, &close) else {
            self.hashes_max = hashes;
            return None;
        };
        self.push(start..end, PieceKind::Text, false);
        Some(end + close.len())
    }

    /// Returns the end of `R"x(…)x"`.
    fn cpp_raw(&mut self, at: usize) -> Option<usize> {
        if !self.raw || !self.starts(at, b"R\"") {
            return None;
        }
        let word = self.bytes[at + 2..].iter().take(DELIMITER_BYTES_MAX).position(|byte| *byte == b'(')?;
        let start = at + 2 + word + 1;
        let close = [&b")"[..], &self.bytes[at + 2..start - 1], b"\""].concat();
        let end = self.find(start, &close);
        self.raw = end.is_some();
        self.push(start..end?, PieceKind::Text, false);
        Some(end? + close.len())
    }

    /// Returns the end of `[==[…]==]`, which may be a comment.
    fn long_bracket(&mut self, at: usize) -> Option<usize> {
        let open = if self.starts(at, b"--[") { at + 2 } else { at };
        if !self.starts(open, b"[") {
            return None;
        }
        let signs =
            self.bytes[open + 1..].iter().take(DELIMITER_BYTES_MAX).take_while(|byte| **byte == b'=').count();
        let start = open + signs + 2;
        if !self.starts(start - 1, b"[") || signs >= self.hashes_max {
            return None;
        }
        let close = [&b"]"[..], "=".repeat(signs).as_bytes(), b"]"].concat();
        let Some(end) = self.find(start, &close) else {
            self.hashes_max = signs;
            return None;
        };
        self.push(start..end, PieceKind::InBrackets, false);
        Some(end + close.len())
    }

    /// Returns the end of the word of a here-document, whose text begins on the next line.
    fn heredoc(
        &mut self,
        at: usize,
        open: &[u8],
        flags: &[u8],
        heredocs: &mut Vec<Vec<u8>>,
    ) -> Option<usize> {
        if !self.raw || !self.starts(at, open) || self.starts(at + open.len(), b"<") {
            return None;
        }
        let mut start = at + open.len();
        let flag = self.bytes[start..].iter().take(4).take_while(|byte| flags.contains(byte)).count();
        start += flag;
        if self.syntax.has(Extra::ShellHeredoc) {
            start += self.bytes[start..].iter().take(4).take_while(|byte| **byte == b' ').count();
        }
        let quote = self.bytes.get(start).copied().filter(|byte| matches!(byte, b'"' | b'\'' | b'\\' | b'`'));
        start += usize::from(quote.is_some());
        let is_word = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
        let word: Vec<u8> =
            self.bytes.get(start..)?.iter().take(DELIMITER_BYTES_MAX).take_while(is_word).copied().collect();
        // `1 << x` in Ruby.
        let is_shift = self.syntax.has(Extra::RubyHeredoc)
            && quote.is_none()
            && flag == 0
            && !word.first().is_some_and(u8::is_ascii_uppercase);
        if is_shift || !word.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_') {
            return None;
        }
        let end = start + word.len() + usize::from(quote.is_some_and(|byte| byte != b'\\'));
        heredocs.push(word);
        Some(end)
    }

    /// Reads here-documents, the first one from `at` on; returns where code continues.
    fn heredocs(&mut self, at: usize, words: Vec<Vec<u8>>) -> usize {
        let mut from = at;
        for word in words {
            let mut line = from;
            loop {
                if line >= self.bytes.len() {
                    self.raw = false;
                    return from;
                }
                let end = self.line_end(line);
                let content = self.bytes[line..end].trim_ascii();
                let rest = content.strip_prefix(word.as_slice());
                if rest.is_some_and(|rest| {
                    !rest.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
                }) {
                    if line > from {
                        self.push(from..line - 1, PieceKind::Text, true);
                    }
                    from = line
                        + (self.bytes[line..end].len() - self.bytes[line..end].trim_ascii_start().len())
                        + word.len();
                    break;
                }
                line = self.bytes[end..]
                    .iter()
                    .position(|byte| *byte == b'\n')
                    .map_or(self.bytes.len(), |next| end + next + 1);
            }
        }
        from
    }
}
