//! Reads strings for the expressions in them.

use super::lexicon::{Holes, Single};
use super::reader::{DEPTH_MAX, Open, Reader};

/// A string that is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Literal<'t> {
    close: Close<'t>,
    holes: Holes,
    escapes: bool,
    multiline: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Close<'t> {
    /// So many of this quote, then so many `#`.
    Quotes { quote: u8, count: usize, hashes: usize },
    /// A line that starts with this word.
    Line(&'t str),
}

/// What stands at a place in a string.
enum Hole {
    /// An expression: so many bytes open it, this closes it.
    Open(usize, u8),
    /// A name after so many bytes.
    Name(usize),
    /// So many bytes that open nothing.
    Skip(usize),
}

impl<'t> Reader<'t> {
    /// A quote, after letters that belong to it.
    pub(super) fn quote(&mut self, prefix: &str) {
        let hashes = if prefix.is_empty() {
            0
        } else {
            self.bytes[self.at..].iter().take_while(|b| **b == b'#').count()
        };
        let quote = self.byte(hashes);
        if quote == b'\'' && self.lexicon.single == Single::Char {
            return self.character();
        }
        let by_prefix =
            self.lexicon.prefixes.iter().find(|(known, _)| *known == prefix).map(|(_, holes)| *holes);
        let holes = match quote {
            b'`' => match self.lexicon.backquote {
                Some(holes) => holes,
                None => {
                    self.at += 1;
                    return self.nameless();
                }
            },
            b'\'' if self.lexicon.single == Single::Text => by_prefix.unwrap_or(Holes::None),
            _ => by_prefix.unwrap_or(self.lexicon.holes),
        };
        let triple = self.lexicon.triple && quote != b'`' && self.byte(1) == quote && self.byte(2) == quote;
        let count = if triple { 3 } else { 1 };
        let raw = prefix.contains('@') || (self.lexicon.single == Single::Char && prefix.contains('r'));
        self.literal = Some(Literal {
            close: Close::Quotes { quote, count, hashes },
            holes,
            escapes: !raw && (quote != b'`' || holes != Holes::None),
            multiline: self.lexicon.multiline || triple || quote == b'`' || raw,
        });
        self.at += hashes + count;
        self.nameless();
    }

    /// `'x'`, or the mark of a lifetime.
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
        self.nameless();
    }

    /// `$` and `@` before names and strings.
    pub(super) fn sigil(&mut self) {
        let text = &self.names.text[self.at..];
        let length = text.find(|c| !matches!(c, '$' | '@')).unwrap_or(text.len());
        let sigils = &text[..length];
        self.at += length;
        if self.byte(0) == b'"' && self.lexicon.prefixes.iter().any(|(prefix, _)| *prefix == sigils) {
            self.quote(sigils);
        }
    }

    /// A string's text, up to its end or to its next expression.
    pub(super) fn text(&mut self, literal: Literal<'t>) {
        let stop = self.next_anchor();
        while self.at < stop {
            if self.ends(literal) || (self.byte(0) == b'\n' && !literal.multiline) {
                self.literal = None;
                return self.nameless();
            }
            match self.hole(literal.holes) {
                Some(Hole::Open(length, close)) if self.opens.len() < DEPTH_MAX => {
                    self.at += length;
                    self.opens.push(Open::Hole { close, literal });
                    self.literal = None;
                    return self.nameless();
                }
                Some(Hole::Name(before)) => {
                    let start = self.at + before;
                    let text = &self.names.text[start..];
                    let length =
                        text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
                    self.push_alone(start, start + length);
                    self.at = start + length;
                }
                Some(Hole::Skip(length)) => self.at += length,
                _ => {
                    if self.byte(0) == b'\\' && literal.escapes {
                        self.at += 1;
                    }
                    self.step();
                }
            }
        }
        self.literal = None;
        self.nameless();
    }

    /// Over one character.
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

    fn hole(&self, holes: Holes) -> Option<Hole> {
        let named = |ahead: usize| self.byte(ahead).is_ascii_alphabetic() || self.byte(ahead) == b'_';
        let found = match (holes, self.byte(0), self.byte(1)) {
            (Holes::Braces | Holes::Named, b'{', b'{') => Hole::Skip(2),
            (Holes::Braces, b'{', _) => Hole::Open(1, b'}'),
            (Holes::Named, b'{', _) if named(1) => {
                let inside = &self.names.text[self.at + 1..];
                let end = inside.find(|c: char| !(c.is_alphanumeric() || c == '_'))?;
                if !inside[end..].starts_with(['}', ':']) {
                    return None;
                }
                Hole::Name(1)
            }
            (Holes::Dollar | Holes::DollarName | Holes::Php, b'$', b'{') => Hole::Open(2, b'}'),
            (Holes::DollarName | Holes::Php, b'$', _) if named(1) => Hole::Name(1),
            (Holes::Php, b'{', b'$') => Hole::Open(1, b'}'),
            (Holes::Hash, b'#', b'{') => Hole::Open(2, b'}'),
            (Holes::Swift, b'\\', b'(') => Hole::Open(2, b')'),
            _ => return None,
        };
        Some(found)
    }

    /// `/…/` where a value may start.
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
        self.nameless();
        true
    }

    /// `<<~END`, `<<<'END'`: the lines below are a string.
    pub(super) fn starts_heredoc(&mut self) -> bool {
        let text = &self.names.text[self.at..];
        let Some(rest) = self.lexicon.heredoc.and_then(|mark| text.strip_prefix(mark)) else { return false };
        let rest = rest.trim_start_matches(['~', '-', ' ']);
        let quoted = rest.starts_with('\'');
        let rest = rest.trim_start_matches(['\'', '"']);
        let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let word = &rest[..length];
        // A shift or an append has a name in lower case or a number.
        if !word.starts_with(|c: char| c.is_ascii_uppercase()) {
            return false;
        }
        let holes = if quoted { Holes::None } else { self.lexicon.holes };
        self.heredoc = Some(Literal { close: Close::Line(word), holes, escapes: !quoted, multiline: true });
        let quotes = rest[length..].len() - rest[length..].trim_start_matches(['\'', '"']).len();
        self.at = self.at + text.len() - rest.len() + length + quotes;
        self.nameless();
        true
    }
}
