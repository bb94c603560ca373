//! Reads strings, and finds the expressions in them.

use super::lexicon::{Interpolation, SingleQuote};
use super::reader::{DEPTH_MAX, Open, Reader};

/// A string that is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Literal<'t> {
    close: Close<'t>,
    interpolation: Interpolation,
    escapes: bool,
    multiline: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Close<'t> {
    /// `count` of this quote, then `hashes` of `#`.
    Quotes { quote: u8, count: usize, hashes: usize },
    /// A line that starts with this word.
    Line(&'t str),
}

/// A token inside a string that concerns interpolation.
enum Marker {
    /// The start of an expression: its length in bytes, and the byte that closes the expression.
    Open(usize, u8),
    /// A name after this number of bytes.
    Name(usize),
    /// An escape of this number of bytes.
    Skip(usize),
}

impl<'t> Reader<'t> {
    /// Begins a string at a quote, after its prefix.
    pub(super) fn quote(&mut self, prefix: &str) {
        let hashes = if prefix.is_empty() {
            0
        } else {
            self.bytes[self.at..].iter().take_while(|b| **b == b'#').count()
        };
        let quote = self.byte(hashes);
        if quote == b'\'' && self.lexicon.single == SingleQuote::Char {
            return self.character();
        }
        let by_prefix = self
            .lexicon
            .prefixes
            .iter()
            .find(|(known, _)| *known == prefix)
            .map(|(_, interpolation)| *interpolation);
        let interpolation = match quote {
            b'`' => match self.lexicon.backquote {
                Some(interpolation) => interpolation,
                None => {
                    self.at += 1;
                    return self.end_chain();
                }
            },
            b'\'' if self.lexicon.single == SingleQuote::Text => by_prefix.unwrap_or(Interpolation::None),
            _ => by_prefix.unwrap_or(self.lexicon.interpolation),
        };
        let triple = self.lexicon.triple && quote != b'`' && self.byte(1) == quote && self.byte(2) == quote;
        let count = if triple { 3 } else { 1 };
        let raw = prefix.contains('@') || (self.lexicon.single == SingleQuote::Char && prefix.contains('r'));
        self.literal = Some(Literal {
            close: Close::Quotes { quote, count, hashes },
            interpolation,
            escapes: !raw && (quote != b'`' || interpolation != Interpolation::None),
            multiline: self.lexicon.multiline || triple || quote == b'`' || raw,
        });
        self.at += hashes + count;
        self.end_chain();
    }

    /// Skips a character such as `'x'`, or the quote of a lifetime.
    fn character(&mut self) {
        let rest = &self.names.text[self.at + 1..];
        let mut chars = rest.chars();
        let first = chars.next();
        let length = match first {
            Some('\\') => {
                rest[1..].char_indices().skip(1).find(|(_, c)| matches!(c, '\'' | '\n')).map(|(at, _)| at + 3)
            }
            Some(c) if chars.next() == Some('\'') => Some(c.len_utf8() + 2),
            _ => Some(1),
        };
        self.at = (self.at + length.unwrap_or(1)).min(self.bytes.len());
        self.end_chain();
    }

    /// Skips `$` and `@` before names and strings.
    pub(super) fn sigil(&mut self) {
        let text = &self.names.text[self.at..];
        let length = text.find(|c| !matches!(c, '$' | '@')).unwrap_or(text.len());
        let sigils = &text[..length];
        self.at += length;
        if self.byte(0) == b'"' && self.lexicon.prefixes.iter().any(|(prefix, _)| *prefix == sigils) {
            self.quote(sigils);
        }
    }

    /// Reads the text of a string up to its end or its next expression.
    pub(super) fn text(&mut self, literal: Literal<'t>) {
        let stop = self.next_anchor();
        while self.at < stop {
            if self.ends(literal) || (self.byte(0) == b'\n' && !literal.multiline) {
                self.literal = None;
                return self.end_chain();
            }
            match self.marker(literal.interpolation) {
                Some(Marker::Open(length, close)) if self.opens.len() < DEPTH_MAX => {
                    self.at += length;
                    self.opens.push(Open::Interpolation { close, literal });
                    self.literal = None;
                    return self.end_chain();
                }
                Some(Marker::Name(before)) => {
                    let start = self.at + before;
                    let text = &self.names.text[start..];
                    let length =
                        text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
                    self.push_alone(start, start + length);
                    self.at = start + length;
                }
                Some(Marker::Skip(length)) => self.at += length,
                _ => {
                    if self.byte(0) == b'\\' && literal.escapes {
                        self.at += 1;
                    }
                    self.step();
                }
            }
        }
        self.literal = None;
        self.end_chain();
    }

    /// Skips one character.
    fn step(&mut self) {
        self.at = (self.at + 1).min(self.bytes.len());
        while !self.names.text.is_char_boundary(self.at) {
            self.at += 1;
        }
    }

    fn ends(&mut self, literal: Literal<'t>) -> bool {
        let length = match literal.close {
            Close::Quotes { quote, count, hashes } => {
                let rest = &self.bytes[self.at..];
                let all = rest.len() >= count + hashes
                    && rest[..count].iter().all(|b| *b == quote)
                    && rest[count..count + hashes].iter().all(|b| *b == b'#');
                all.then_some(count + hashes)
            }
            Close::Line(word) => {
                let fresh = self.at == 0 || self.bytes[self.at - 1] == b'\n';
                let rest = &self.names.text[self.at..];
                let bare = rest.trim_start_matches([' ', '\t']);
                (fresh && bare.starts_with(word)).then(|| rest.len() - bare.len() + word.len())
            }
        };
        self.at += length.unwrap_or(0);
        length.is_some()
    }

    fn marker(&self, interpolation: Interpolation) -> Option<Marker> {
        let named = |ahead: usize| self.byte(ahead).is_ascii_alphabetic() || self.byte(ahead) == b'_';
        let found = match (interpolation, self.byte(0), self.byte(1)) {
            (Interpolation::Braces | Interpolation::Named, b'{', b'{') => Marker::Skip(2),
            (Interpolation::Braces, b'{', _) => Marker::Open(1, b'}'),
            (Interpolation::Named, b'{', _) if named(1) => {
                let inside = &self.names.text[self.at + 1..];
                let end = inside.find(|c: char| !(c.is_alphanumeric() || c == '_'))?;
                if !inside[end..].starts_with(['}', ':']) {
                    return None;
                }
                Marker::Name(1)
            }
            (Interpolation::Dollar | Interpolation::DollarName | Interpolation::Php, b'$', b'{') => {
                Marker::Open(2, b'}')
            }
            (Interpolation::DollarName | Interpolation::Php, b'$', _) if named(1) => Marker::Name(1),
            (Interpolation::Php, b'{', b'$') => Marker::Open(1, b'}'),
            (Interpolation::Hash, b'#', b'{') => Marker::Open(2, b'}'),
            (Interpolation::Swift, b'\\', b'(') => Marker::Open(2, b')'),
            _ => return None,
        };
        Some(found)
    }

    /// Skips a regular expression `/…/` where a value may start; returns whether there was one.
    pub(super) fn regex(&mut self) -> bool {
        if self.byte(0) != b'/' || !self.lexicon.regex {
            return false;
        }
        let before = self.bytes[..self.last].last().copied();
        let fits = before.is_none_or(|byte| b"(,=:[!&|?{};~".contains(&byte)) || self.after("return");
        let (mut class, mut escaped) = (false, false);
        let end = self.names.text[self.at + 1..].find(|c: char| {
            let ends = c == '\n' || (c == '/' && !class && !escaped);
            class = if escaped { class } else { c == '[' || (class && c != ']') };
            escaped = c == '\\' && !escaped;
            ends
        });
        let Some(end) = end.filter(|_| fits).map(|end| self.at + 1 + end) else { return false };
        if self.bytes[end] != b'/' {
            return false;
        }
        self.at = end + 1;
        self.end_chain();
        true
    }

    /// Reads the start of a heredoc, `<<~END` or `<<<'END'`, whose string begins on the next line; returns whether there was
    /// one.
    pub(super) fn starts_heredoc(&mut self) -> bool {
        let text = &self.names.text[self.at..];
        let Some(rest) = self.lexicon.heredoc.and_then(|mark| text.strip_prefix(mark)) else { return false };
        let rest = rest.trim_start_matches(['~', '-', ' ']);
        let quoted = rest.starts_with('\'');
        let rest = rest.trim_start_matches(['\'', '"']);
        let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let word = &rest[..length];
        // After a shift or an append operator there is a lower-case name or a number.
        if !word.starts_with(|c: char| c.is_ascii_uppercase()) {
            return false;
        }
        let interpolation = if quoted { Interpolation::None } else { self.lexicon.interpolation };
        self.heredoc =
            Some(Literal { close: Close::Line(word), interpolation, escapes: !quoted, multiline: true });
        let quotes = rest[length..].len() - rest[length..].trim_start_matches(['\'', '"']).len();
        self.at = self.at + text.len() - rest.len() + length + quotes;
        self.end_chain();
        true
    }
}
