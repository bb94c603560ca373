//! Extracts names from code, token by token; [`super::strings`] reads the contents of strings.

use super::lexicon::{self, Lexicon, SingleQuote};
use super::names::{NONE, Names, Occurrence, UNNAMED};
use super::strings::Literal;

/// An open bracket.
#[derive(Debug, Clone, Copy)]
pub(super) enum Open<'t> {
    /// A bracket, with the part before it and the enclosing body of an anonymous function.
    Bracket { close: u8, tail: u32, lambda_body: u32 },
    /// An expression inside a string.
    Interpolation { close: u8, literal: Literal<'t> },
}

/// Deepest nesting of brackets that is tracked; deeper brackets are ignored.
pub(super) const DEPTH_MAX: usize = 4096;

/// The state of reading.
pub(super) struct Reader<'t> {
    pub(super) names: Names<'t>,
    pub(super) lexicon: Lexicon,
    pub(super) bytes: &'t [u8],
    anchors: Vec<usize>,
    /// Number of the first anchor after the current position.
    anchor: usize,
    pub(super) at: usize,
    /// The string that is being read.
    pub(super) literal: Option<Literal<'t>>,
    /// The string that starts on the next line.
    pub(super) heredoc: Option<Literal<'t>>,
    pub(super) opens: Vec<Open<'t>>,
    /// The part that would own the name after a separator.
    tail: u32,
    /// `true` if a separator was just read.
    joined: bool,
    /// End of the last token.
    pub(super) last: usize,
    lambda_body: u32,
}

impl<'t> Reader<'t> {
    /// A reader at the start of the text. `anchors` are sorted and at character boundaries.
    pub(super) fn new(names: Names<'t>, language: &str, anchors: Vec<usize>) -> Self {
        Self {
            bytes: names.text.as_bytes(),
            names,
            lexicon: lexicon::for_language(language),
            anchors,
            anchor: 0,
            at: 0,
            literal: None,
            heredoc: None,
            opens: Vec::new(),
            tail: NONE,
            joined: false,
            last: 0,
            lambda_body: 0,
        }
    }

    /// Reads the whole text.
    pub(super) fn run(mut self) -> Names<'t> {
        while self.at < self.bytes.len() {
            match self.literal {
                Some(literal) => self.text(literal),
                None => self.code(),
            }
        }
        self.names
    }

    pub(super) fn byte(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    pub(super) fn sees(&self, what: &str) -> bool {
        self.bytes[self.at..].starts_with(what.as_bytes())
    }

    /// Checks whether the code up to the last token ends with `what`.
    pub(super) fn after(&self, what: &str) -> bool {
        self.bytes[..self.last].ends_with(what.as_bytes())
    }

    /// The next anchor, or the end of the text.
    pub(super) fn next_anchor(&mut self) -> usize {
        while self.anchors.get(self.anchor).is_some_and(|anchor| *anchor <= self.at) {
            self.anchor += 1;
        }
        self.anchors.get(self.anchor).map_or(self.bytes.len(), |anchor| *anchor)
    }

    fn code(&mut self) {
        let byte = self.byte(0);
        match byte {
            b'\n' if self.heredoc.is_some() => {
                self.literal = self.heredoc.take();
                self.at += 1;
            }
            _ if byte.is_ascii_whitespace() => self.at += 1,
            _ if self.comment() => {}
            b'_' | b'a'..=b'z' | b'A'..=b'Z' | 0x80.. => self.identifier(),
            b'0'..=b'9' => {
                while self.byte(0).is_ascii_alphanumeric() || self.byte(0) == b'_' {
                    self.at += 1;
                }
                self.end_chain();
            }
            b'"' | b'\'' | b'`' => self.quote(""),
            b'(' | b'[' | b'{' => self.open(byte),
            b')' | b']' | b'}' => self.close(byte),
            b'$' | b'@' => self.sigil(),
            _ if self.separator() || self.regex() || self.starts_heredoc() => {}
            _ => {
                self.at += 1;
                self.end_chain();
            }
        }
    }

    /// Records that the last token was not a name, so that no chain continues from it.
    pub(super) fn end_chain(&mut self) {
        self.tail = NONE;
        self.joined = false;
        self.last = self.at;
    }

    fn comment(&mut self) -> bool {
        let rest = &self.names.text[self.at..];
        let line = self.lexicon.line_comments.iter().any(|mark| rest.starts_with(mark));
        let block = self.lexicon.block_comments && rest.starts_with("/*");
        // `#[` is an attribute where `#` is not the only mark.
        if !(line || block) || (rest.starts_with("#[") && self.lexicon.block_comments) {
            return false;
        }
        let end = if line { rest.find('\n') } else { rest.find("*/").map(|end| end + 2) };
        let end = end.map_or(self.bytes.len(), |end| self.at + end);
        self.at = end.min(self.next_anchor());
        true
    }

    fn identifier(&mut self) {
        let text = &self.names.text[self.at..];
        let length = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
        if length == 0 {
            // A symbol outside ASCII.
            self.at += text.chars().next().map_or(1, char::len_utf8);
            return self.end_chain();
        }
        let (name, rest) = text.split_at(length);
        if self.is_prefix(name, rest) {
            self.at += length;
            return self.quote(&name.to_ascii_lowercase());
        }
        let end = self.at + length;
        if self.joined || !self.names_a_value(rest) {
            self.push(self.at, end);
            self.at = end;
            self.last = end;
        } else {
            self.at = end;
            self.end_chain();
        }
    }

    /// Checks whether the letters in front of a quote are the prefix of a string.
    fn is_prefix(&self, name: &str, rest: &str) -> bool {
        let letters = self.lexicon.letters;
        let only = name.len() <= 3 && name.chars().all(|c| letters.contains(c.to_ascii_lowercase()));
        only && match self.lexicon.single {
            // Prefixes of characters do not matter, and a raw string may have `#`.
            SingleQuote::Char => rest.trim_start_matches('#').starts_with('"'),
            _ => rest.starts_with(['"', '\'']),
        }
    }

    /// Checks whether the name before `rest` names an argument or a field, and is not a value.
    fn names_a_value(&self, rest: &str) -> bool {
        if !["(", ",", "{"].iter().any(|mark| self.after(mark)) {
            return false;
        }
        let rest = rest.trim_start_matches([' ', '\t']);
        let by_colon = self.lexicon.named_by_colon && rest.starts_with(':') && !rest.starts_with("::");
        let by_equals = rest.starts_with('=') && !rest.starts_with("==") && !rest.starts_with("=>");
        by_colon || (by_equals && self.lexicon.named_by_equals)
    }

    /// A name inside a string.
    pub(super) fn push_alone(&mut self, start: usize, end: usize) {
        self.joined = false;
        self.push(start, end);
        self.tail = NONE;
    }

    fn push(&mut self, start: usize, end: usize) {
        let owner = match self.joined {
            true if self.tail == NONE => UNNAMED,
            true => self.tail,
            false => NONE,
        };
        let parent = self.names.parts.get(owner as usize).map_or(owner, |part| part.chain);
        let chain = self.names.chain_of(parent, &self.names.text[start..end]);
        self.tail = offset(self.names.parts.len());
        self.names.parts.push(Occurrence {
            start: offset(start),
            end: offset(end),
            owner,
            chain,
            lambda_body: self.lambda_body,
        });
        self.joined = false;
    }

    /// Reads a separator: `.`, `?.`, `::`, `->` and similar ones.
    fn separator(&mut self) -> bool {
        let length = match self.byte(0) {
            // A range or a spread.
            b'.' if self.byte(1) == b'.' => {
                while self.byte(0) == b'.' {
                    self.at += 1;
                }
                self.end_chain();
                return true;
            }
            b'?' if self.sees("?->") && self.lexicon.arrow => 3,
            // The dot itself is read next.
            b'?' | b'!' if matches!(self.byte(1), b'.' | b'!') => {
                self.at += 1;
                return true;
            }
            b'.' => 1,
            b':' if self.byte(1) == b':' => 2,
            b'-' if self.byte(1) == b'>' && self.lexicon.arrow => 2,
            b'\\' if self.lexicon.heredoc == Some("<<<") => 1,
            _ => return false,
        };
        self.at += length;
        self.joined = true;
        self.last = self.at;
        true
    }

    fn open(&mut self, byte: u8) {
        let close = match byte {
            b'(' => b')',
            b'[' => b']',
            _ => b'}',
        };
        if self.opens.len() < DEPTH_MAX {
            self.opens.push(Open::Bracket { close, tail: self.tail, lambda_body: self.lambda_body });
            if byte == b'{' && self.lexicon.lambda.iter().any(|mark| self.after(mark)) {
                // The id of a body is derived from its start.
                self.enter(offset(self.at).saturating_add(1));
            }
        }
        self.at += 1;
        self.end_chain();
    }

    fn enter(&mut self, lambda_body: u32) {
        if self.lambda_body != lambda_body {
            self.lambda_body = lambda_body;
            self.names.lambda_bodies.push((offset(self.at), lambda_body));
        }
    }

    fn close(&mut self, byte: u8) {
        self.at += 1;
        self.end_chain();
        while let Some(open) = self.opens.last().copied() {
            match open {
                Open::Bracket { close, tail, lambda_body } if close == byte => {
                    self.opens.pop();
                    self.enter(lambda_body);
                    self.tail = tail;
                    return;
                }
                Open::Interpolation { close, literal } if close == byte => {
                    self.opens.pop();
                    self.literal = Some(literal);
                    return;
                }
                // A closing brace also closes unclosed brackets inside it.
                Open::Bracket { lambda_body, .. } if byte == b'}' => {
                    self.opens.pop();
                    self.enter(lambda_body);
                }
                _ => return,
            }
        }
    }
}

/// A byte offset in 32 bits; longer texts are not read.
pub(super) fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(NONE)
}
