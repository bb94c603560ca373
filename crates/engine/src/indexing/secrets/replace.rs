//! Replaces secrets so that every token of the text stays a token of its kind: delimiters, escapes, brackets and line breaks are kept, so
//! that the syntax of a file survives.
//!
//! Within a string or a comment a secret reads `[REDACTED:kind]`. In text that is code, or may be, it reads `REDACTED_kind`, which is a
//! word in every language.

use std::ops::Range;

use super::Span;
use super::lexical::{self, Piece, PieceKind};
use super::syntaxes::{Code, Extra, Syntax};

/// Shortest run of base64 between the strings of a private key that is replaced.
const KEY_RUN_MIN: usize = 16;

/// Maximum number of spaces between a secret and the quotes around it.
const SPACES_MAX: usize = 64;

/// Longest tag, in bytes.
const TAG_BYTES_MAX: usize = 400;

/// Returns whether a text contains the replacement of a secret.
pub(super) fn is_redacted(text: &str) -> bool {
    ["[REDACTED", "REDACTED_", "redacted_"].iter().any(|mark| text.contains(mark))
}

/// Replaces the spans, which are in order and do not overlap. Returns the text and the number of spans that changed it.
pub(super) fn replaced(text: &str, spans: &[Span], syntax: Option<&'static Syntax>) -> (String, usize) {
    let tokens = syntax.map(|syntax| Tokens { text, syntax, pieces: lexical::pieces(text, syntax) });
    let mut out = String::with_capacity(text.len() + 16 * spans.len());
    let (mut at, mut count) = (0, 0);
    let capitals_differ = syntax.is_some_and(|syntax| syntax.has(Extra::CapitalsDiffer));
    let is_small = |c: char| c == '_' || c.is_lowercase();
    for span in spans {
        let mut edits = Edits { text, kind: span.kind, edits: Vec::new() };
        match &tokens {
            Some(tokens) => tokens.replace(span, at, &mut edits),
            None => edits.lines(span.range.clone(), Mark::Bracketed, &|cut| cut),
        }
        count += usize::from(!edits.edits.is_empty());
        for (range, mark) in edits.edits {
            out.push_str(&text[at..range.start]);
            match mark {
                Mark::Bracketed => out.extend(["[REDACTED:", span.kind, "]"]),
                // A variable stays a variable, and a constant a constant.
                Mark::Word if capitals_differ && text[range.start..].starts_with(is_small) => {
                    out.extend(["redacted_", span.kind]);
                }
                Mark::Word => out.extend(["REDACTED_", span.kind]),
                Mark::Rest => out.push('x'),
                Mark::Nothing => {}
            }
            at = range.end;
        }
    }
    out.push_str(&text[at..]);
    (out, count)
}

/// The replacement of a part of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// `[REDACTED:kind]`
    Bracketed,
    /// `REDACTED_kind`
    Word,
    /// A short word, for the further parts of a secret.
    Rest,
    Nothing,
}

/// The replaced parts of a secret, in order.
struct Edits<'t> {
    text: &'t str,
    kind: &'static str,
    edits: Vec<(Range<usize>, Mark)>,
}

impl Edits<'_> {
    /// Returns whether the kind of this secret has not been written yet.
    fn is_first(&self) -> bool {
        self.edits.is_empty()
    }

    fn push(&mut self, range: Range<usize>, mark: Mark) {
        if !range.is_empty() {
            self.edits.push((range, mark));
        }
    }

    /// Replaces the first line that is not blank by `mark`, and the others by nothing. `keep` returns the part of a line that
    /// may be replaced.
    fn lines(&mut self, range: Range<usize>, mark: Mark, keep: &dyn Fn(Range<usize>) -> Range<usize>) {
        let text = self.text;
        let mut start = range.start;
        for line in text[range].split('\n') {
            let next = start + line.len() + 1;
            let cut = keep(start..next - 1 - usize::from(line.ends_with('\r')));
            let content = trimmed(text, cut.clone());
            if !content.is_empty() && self.is_first() {
                self.push(content.start..cut.end, mark);
            } else {
                self.push(cut, Mark::Nothing);
            }
            start = next;
        }
    }

    /// Replaces the words of a part that is code, or may be. Keeps everything that could delimit a token.
    fn words(&mut self, range: Range<usize>, code: Code, length_min: usize) {
        let text = self.text;
        let mut start = range.start;
        let mut rest = text[range.clone()].char_indices().peekable();
        while let Some((at, c)) = rest.next() {
            let end = range.start + at;
            let delimits = is_delimiter(c, code);
            let is_last = rest.peek().is_none();
            if !delimits && !is_last {
                continue;
            }
            let run = start..if delimits { end } else { end + c.len_utf8() };
            start = end + c.len_utf8();
            // An escape is kept whole.
            if c == '\\'
                && let Some((_, escaped)) = rest.next_if(|(_, escaped)| *escaped != '\n')
            {
                start += escaped.len_utf8();
            }
            let word = self.word(run, code);
            if word.len() >= length_min {
                self.push_word(word, code, &range);
            }
        }
    }

    fn push_word(&mut self, word: Range<usize>, code: Code, range: &Range<usize>) {
        let text = self.text;
        let is_whole_line = text[..word.start].trim_end_matches([' ', '\t']).ends_with('\n')
            && text[word.end..].trim_start_matches([' ', '\t', '\r']).starts_with('\n')
            && word.start > range.start;
        let is_name_of_tag = ["<", "</"].iter().any(|open| text[..word.start].ends_with(open));
        let mark = match code {
            Code::Prose if self.is_first() && !is_name_of_tag => Mark::Bracketed,
            _ if self.is_first() => Mark::Word,
            _ if is_whole_line => Mark::Nothing,
            _ => Mark::Rest,
        };
        self.push(word, mark);
    }

    /// Returns the part of a run that is a word rather than operators and spaces around it; empty without a letter or digit.
    fn word(&self, run: Range<usize>, code: Code) -> Range<usize> {
        let is_edge = |c: char| match code {
            Code::Expressions => !c.is_alphanumeric() && c != '_',
            Code::Words => c.is_whitespace() || c == ':',
            Code::Prose => c.is_whitespace(),
        };
        let word = self.text[run.clone()].trim_start_matches(is_edge);
        let start = run.end - word.len();
        let word = word.trim_end_matches(is_edge);
        if word.chars().any(char::is_alphanumeric) { start..start + word.len() } else { start..start }
    }
}

/// Returns whether a character may delimit a token.
fn is_delimiter(c: char, code: Code) -> bool {
    match code {
        Code::Prose => matches!(c, '<' | '>' | '"' | '\'' | '`' | '\n' | '\r'),
        Code::Words | Code::Expressions => {
            matches!(
                c,
                '"' | '\''
                    | '`'
                    | '('
                    | ')'
                    | '['
                    | ']'
                    | '{'
                    | '}'
                    | '<'
                    | '>'
                    | '$'
                    | ';'
                    | ','
                    | '\\'
                    | '|'
                    | '&'
                    | '#'
                    | '\n'
                    | '\r'
            )
        }
    }
}

/// A text with its strings and comments.
struct Tokens<'t> {
    text: &'t str,
    syntax: &'static Syntax,
    pieces: Vec<Piece>,
}

impl Tokens<'_> {
    /// Replaces the parts of a span, token by token; nothing before `from`.
    fn replace(&self, span: &Span, from: usize, edits: &mut Edits<'_>) {
        let mut at = span.range.start.max(from);
        let mut next = self.pieces.partition_point(|piece| piece.range.end <= at);
        let begins_in_string = self.pieces.get(next).is_some_and(|piece| piece.range.start <= at);
        let is_key = edits.kind == "private_key";
        while at < span.range.end {
            let piece = self.pieces.get(next);
            let start = piece.map_or(span.range.end, |piece| piece.range.start.min(span.range.end));
            if at < start {
                // Text after the end of the string or text is not part of the secret, except within a private key.
                let end = if is_key { start } else { self.end_of_text(at..start) };
                if !begins_in_string {
                    edits.words(at..end, self.syntax.code, 1);
                } else if is_key {
                    edits.words(at..start, self.syntax.code, KEY_RUN_MIN);
                }
                if end < start {
                    break;
                }
                at = start;
                continue;
            }
            let Some(piece) = piece else { break };
            let end = piece.range.end.min(span.range.end);
            for part in self.parts_of_comment(piece, at..end) {
                self.inside(piece, part, from, edits);
            }
            (at, next) = (piece.range.end, next + 1);
            if begins_in_string && piece.complete && !is_key {
                // An apparent quote inside the secret shows that the string was misread.
                if !self.ends_value(at) {
                    edits.words(at..span.range.end.max(at), self.words_of_text(), 1);
                }
                break;
            }
        }
    }

    /// Returns whether a value ends with the delimiter at `at`: it is not a quote, or nothing follows that could be part of the value.
    fn ends_value(&self, at: usize) -> bool {
        let mut rest = self.text[at..].chars();
        let delimiter = rest.next().filter(|c| matches!(c, '"' | '\'' | '`'));
        if delimiter.is_none() {
            return true;
        }
        let after = rest.find(|c| Some(*c) != delimiter);
        after.is_none_or(|c| c.is_whitespace() || "),;}]>:.+\\'\"`|&#-*/".contains(c))
    }

    /// Returns how words are distinguished in a string or comment that may have been misread.
    fn words_of_text(&self) -> Code {
        if self.syntax.code == Code::Prose { Code::Prose } else { Code::Words }
    }

    /// Returns the end of the text for people with which a range begins: at the next tag, unless the text is quoted.
    fn end_of_text(&self, range: Range<usize>) -> usize {
        let is_quoted = self.text[..range.start].ends_with(['"', '\'', '`', '[']);
        if self.syntax.code != Code::Prose || is_quoted {
            return range.end;
        }
        let mut tags = self.text[range.clone()].match_indices('<').map(|(at, _)| range.start + at);
        tags.find(|at| is_tag(&self.text[*at..])).unwrap_or(range.end)
    }

    /// Returns the parts of a range of a comment between the delimiters of comments inside it; of other pieces the whole range.
    fn parts_of_comment(&self, piece: &Piece, range: Range<usize>) -> Vec<Range<usize>> {
        if piece.kind != PieceKind::Comment || !self.syntax.has(Extra::NestedComments) {
            return vec![range];
        }
        let delimiters = self.syntax.comments.iter().filter(|(_, close)| *close != "\n");
        let delimiters: Vec<&str> = delimiters.flat_map(|(open, close)| [*open, *close]).collect();
        let (mut parts, mut start) = (Vec::new(), range.start);
        // A delimiter may begin before the range, and end after it.
        let mut at = range.start.saturating_sub(1).max(piece.range.start);
        while at < range.end {
            let here = &self.text.as_bytes()[at..piece.range.end];
            match delimiters.iter().find(|delimiter| here.starts_with(delimiter.as_bytes())) {
                Some(delimiter) => {
                    parts.push(start..at.max(start));
                    at += delimiter.len();
                    start = at.min(range.end);
                }
                None => at += 1,
            }
        }
        parts.push(start..range.end);
        parts.retain(|part| !part.is_empty());
        parts
    }

    /// Replaces a part of a string or comment.
    fn inside(&self, piece: &Piece, part: Range<usize>, from: usize, edits: &mut Edits<'_>) {
        let part = self.whole_characters(piece, part, from);
        let is_blank =
            |around: Range<usize>| around.len() <= SPACES_MAX && self.text[around].trim().is_empty();
        let is_all =
            piece.complete && is_blank(piece.range.start..part.start) && is_blank(part.end..piece.range.end);
        // A delimiter of another string may show that this one was misread.
        if !is_all && self.text[part.clone()].contains(['"', '\'', '`']) {
            return edits.words(part, self.words_of_text(), 1);
        }
        // `$name` in a string of a shell.
        let is_name = self.text[..part.start].ends_with(['$', '{']);
        let mark = match piece.kind {
            PieceKind::Comment => Mark::Bracketed,
            PieceKind::Text if !is_name => Mark::Bracketed,
            PieceKind::Text => Mark::Word,
            PieceKind::InBrackets | PieceKind::Regex => Mark::Word,
        };
        // Without content, a regular expression would be a comment.
        let (mark, is_rest) =
            if edits.is_first() { (mark, false) } else { (Mark::Rest, piece.kind == PieceKind::Regex) };
        if is_rest {
            return edits.push(part, mark);
        }
        let end = part.end;
        let keep = |line: Range<usize>| {
            let continues = line.end < end && piece.escapes && is_escaped(self.text, line.end);
            let gap = self.syntax.has(Extra::StringGaps) && line.start > piece.range.start;
            let content = self.text[line.clone()].trim_start();
            let start = match content.strip_prefix('\\') {
                Some(content) if gap => line.end - content.len(),
                _ => line.start,
            };
            start..(line.end - usize::from(continues)).max(start)
        };
        edits.lines(part, mark, &keep);
    }

    /// Trims the part so that it does not cut an escape in half. Line breaks at its end are kept.
    fn whole_characters(&self, piece: &Piece, part: Range<usize>, from: usize) -> Range<usize> {
        let Range { mut start, mut end } = part;
        if let Some(quote) = piece.doubled
            && start == piece.range.start
            && self.text.as_bytes()[end..piece.range.end].starts_with(&[quote, quote])
        {
            end = piece.range.end;
        }
        if !piece.escapes {
            return start..end;
        }
        if let Some(escape) = escape_over(self.text, start) {
            start = escape.start.max(piece.range.start).max(from);
        }
        if let Some(escape) = escape_over(self.text, end) {
            end = if end == escape.start + 1 { escape.start } else { escape.end.min(piece.range.end) };
        }
        while end > start + 2
            && matches!(self.text.as_bytes()[end - 1], b'n' | b'r' | b't')
            && is_escaped(self.text, end - 1)
        {
            end -= 2;
        }
        start..end.max(start)
    }
}

/// Returns whether a text begins with a tag.
fn is_tag(text: &str) -> bool {
    let name = text.trim_start_matches('<').trim_start_matches('/');
    let end = text.bytes().take(TAG_BYTES_MAX).skip(1).position(|byte| matches!(byte, b'<' | b'>' | b'\n'));
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && end.is_some_and(|end| text.as_bytes()[end + 1] == b'>')
}

/// Returns whether the character at `at` is escaped by a backslash.
fn is_escaped(text: &str, at: usize) -> bool {
    text.as_bytes()[..at].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// Returns the escape that begins before `at` and ends after it.
fn escape_over(text: &str, at: usize) -> Option<Range<usize>> {
    const ESCAPE_BYTES_MAX: usize = 12;
    let bytes = text.as_bytes();
    let back = bytes[..at].iter().rev().take(ESCAPE_BYTES_MAX).position(|byte| *byte == b'\\')?;
    let escaped = at - back;
    if !is_escaped(text, escaped) {
        return None;
    }
    let digits = |max: usize| {
        bytes[escaped + 1..].iter().take(max).take_while(|byte| byte.is_ascii_hexdigit()).count()
    };
    let length = match bytes.get(escaped)? {
        b'u' | b'x' | b'N' if bytes.get(escaped + 1) == Some(&b'{') => {
            let name = bytes[escaped + 2..].iter().take(ESCAPE_BYTES_MAX).position(|byte| *byte == b'}');
            3 + name?
        }
        b'x' => 1 + digits(2),
        b'u' => 1 + digits(4),
        b'U' => 1 + digits(8),
        b'0'..=b'7' => {
            1 + bytes[escaped + 1..].iter().take(2).take_while(|byte| matches!(byte, b'0'..=b'7')).count()
        }
        _ => text.get(escaped..)?.chars().next().map_or(1, char::len_utf8),
    };
    (escaped + length > at).then_some(escaped - 1..escaped + length)
}

/// Returns the range without spaces around it; empty at its end if there is nothing else.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let content = text[range.clone()].trim_start();
    let start = range.end - content.len();
    start..start + content.trim_end().len()
}
