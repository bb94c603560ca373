//! A pattern of exact search: a regular expression or a literal text, compiled to match within lines.
//!
//! Lines are matched as ripgrep does: `.`, `\s` and negated classes do not match line ends, `^` and `$` are the ends of a line,
//! and a carriage return before a line feed belongs to the line end. A pattern that needs line ends (a literal `\n`, a class
//! of all characters as `(?s).` is) may match across the lines of one chunk instead.

use std::sync::atomic::{AtomicBool, Ordering};

use regex_automata::Input;
use regex_automata::meta::{Config, Regex};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{
    Capture, Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look,
    Repetition,
};

use super::trigrams::trigrams;
use contract::{ErrorCode, Fault, echo};
use store::GramQuery;

/// The most nested groups, which bounds the recursion over a parsed pattern.
const NEST_MAX: u32 = 50;
/// Size limit of the compiled pattern in bytes. The time for a text grows with it, if the lazy automaton gives up.
const COMPILED_BYTES_MAX: usize = 10 * 1024 * 1024;
/// A larger one is matched line by line, so that a search can stop between two lines.
const COMPILED_BYTES_FAST: usize = 2 * 1024 * 1024;
/// Bytes of the lazy automaton's cache.
const CACHE_BYTES: usize = 2 * 1024 * 1024;
/// Most characters of a class with a line feed that is taken for a line end: `[\r\n]`.
const LINE_END_CLASS_MAX: usize = 2;
/// A line that no pattern of interest matches by chance.
const UNLIKELY_LINE: &str = "\u{e000}";

/// What exact search looks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExactQuery {
    /// The query is a regular expression.
    Regex,
    /// The query is a literal text.
    Text,
}

/// A compiled pattern.
#[derive(Debug, Clone)]
pub(in crate::search) struct Pattern {
    regex: Regex,
    /// What the trigrams of a text with a match fulfil.
    grams: GramQuery,
    /// Whether a match may contain line ends.
    spans_lines: bool,
    /// Whether blank lines match.
    matches_blank: bool,
    /// Whether it is large and matches within lines.
    is_slow: bool,
}

impl Pattern {
    /// Compiles a regular expression.
    ///
    /// # Errors
    /// `INVALID_REQUEST` if it is malformed, too large or matches every line.
    pub(in crate::search) fn regex(text: &str, exact_case: bool) -> Result<Self, Fault> {
        let mut parser = ParserBuilder::new();
        parser.multi_line(true).crlf(true).case_insensitive(!exact_case).nest_limit(NEST_MAX);
        let hir = parser.build().parse(text).map_err(|error| {
            // The last line of the parser's report is the reason; the lines before show the position.
            let report = error.to_string();
            let reason = report.lines().next_back().unwrap_or("malformed").trim_start_matches("error: ");
            refused(
                text,
                &format!("it is not a regular expression that can be searched: {reason}"),
                hint(&report),
            )
        })?;
        Self::compiled(text, hir)
    }

    /// Compiles a literal text. A line end in it matches those of Windows as well.
    ///
    /// # Errors
    /// `INVALID_REQUEST` if it is empty or too large.
    pub(in crate::search) fn text(text: &str, exact_case: bool) -> Result<Self, Fault> {
        let lines: Vec<String> = text
            .split('\n')
            .map(|line| line.strip_suffix('\r').unwrap_or(line))
            .map(regex_syntax::escape)
            .collect();
        Self::regex(&lines.join("\\r?\\n"), exact_case)
    }

    fn compiled(text: &str, hir: Hir) -> Result<Self, Fault> {
        let spans_lines = needs_line_ends(&hir);
        let hir = within_lines(hir, spans_lines);
        let grams = trigrams(&hir);
        let config = Config::new()
            .nfa_size_limit(Some(COMPILED_BYTES_MAX))
            .onepass_size_limit(Some(CACHE_BYTES))
            .hybrid_cache_capacity(CACHE_BYTES)
            .which_captures(regex_automata::nfa::thompson::WhichCaptures::Implicit);
        let regex = Regex::builder().configure(config).build_from_hir(&hir).map_err(|error| {
            let why =
                format!("it is too large: compiled, it would need more than {COMPILED_BYTES_MAX} bytes");
            refused(text, &why, "Repeat less, or use smaller classes: `\\d` instead of `\\w{1000}`.")
                .with_source(error)
        })?;
        let matches_blank = regex.is_match("");
        if matches_blank && regex.is_match(UNLIKELY_LINE) {
            return Err(refused(text, "it matches every line", "Write what a line has to contain."));
        }
        let is_slow = !spans_lines && regex.memory_usage() > COMPILED_BYTES_FAST;
        Ok(Self { regex, grams, spans_lines, matches_blank, is_slow })
    }

    /// What the trigrams of a text with a match fulfil.
    pub(in crate::search) fn grams(&self) -> &GramQuery {
        &self.grams
    }

    /// Whether a match may contain line ends, so that it ends with its chunk.
    pub(in crate::search) fn spans_lines(&self) -> bool {
        self.spans_lines
    }

    /// Whether blank lines match. Those between chunks are not stored.
    pub(in crate::search) fn matches_blank(&self) -> bool {
        self.matches_blank
    }

    /// The first match that begins at byte `from` or later, as its start and end. Stops between two lines if `stop` is set and
    /// the pattern is large.
    pub(super) fn find_at(&self, text: &str, from: usize, stop: &AtomicBool) -> Option<(usize, usize)> {
        let text = without_last_return(text);
        let find = |from: usize, to: usize| {
            let found = self.regex.find(Input::new(text).range(from..to))?;
            Some((found.start(), found.end()))
        };
        let mut from = from.min(text.len());
        if !self.is_slow {
            return find(from, text.len());
        }
        while !stop.load(Ordering::Relaxed) {
            let end = text[from..].find('\n').map_or(text.len(), |at| from + at);
            if let Some(found) = find(from, end) {
                return Some(found);
            }
            if end == text.len() {
                break;
            }
            from = end + 1;
        }
        None
    }
}

/// The text of a chunk ends before its last line feed, so a carriage return at its end is the start of a line end.
fn without_last_return(text: &str) -> &str {
    text.strip_suffix('\r').unwrap_or(text)
}

fn refused(text: &str, why: &str, hint: &str) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, format!("The pattern cannot be searched: {why}."))
        .with_details(serde_json::json!({ "pattern": echo(text) }))
        .with_hint(hint)
}

/// What to do about a pattern that the parser refuses.
fn hint(report: &str) -> &'static str {
    if report.contains("look-around") {
        "Leave out look-around (`(?=`, `(?!`, `(?<=`, `(?<!`): patterns are matched in linear time. Search for the rest and filter with `-content:/…/`."
    } else if report.contains("backreferences") {
        "Leave out back-references (`\\1`): patterns are matched in linear time."
    } else if report.contains("nest") {
        "Use fewer nested groups."
    } else {
        "Patterns have the syntax of Rust's `regex`. Escape ( ) [ ] { } . * + ? ^ $ | \\ with a backslash, or search the text literally: mode `exact`, `grep --fixed`."
    }
}

/// Whether the pattern matches line ends on purpose.
fn needs_line_ends(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => false,
        HirKind::Literal(literal) => literal.0.contains(&b'\n'),
        HirKind::Class(Class::Unicode(class)) => {
            let length: usize = class
                .ranges()
                .iter()
                .map(|range| range.len())
                .fold(0, |sum, length| sum.saturating_add(length));
            let has_line_feed =
                class.ranges().iter().any(|range| range.start() <= '\n' && '\n' <= range.end());
            let has_all = class.ranges().len() == 1
                && class.ranges().iter().all(|range| range.start() == '\0' && range.end() == char::MAX);
            has_line_feed && (has_all || length <= LINE_END_CLASS_MAX)
        }
        HirKind::Class(Class::Bytes(class)) => {
            class.ranges().iter().any(|range| range.start() == range.end() && range.start() == b'\n')
        }
        HirKind::Repetition(repetition) => needs_line_ends(&repetition.sub),
        HirKind::Capture(capture) => needs_line_ends(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(needs_line_ends),
    }
}

/// Removes groups, which nobody asks for, and, unless matches may span lines, line feeds and carriage returns from all
/// classes; a literal `\r` finds the line ends of Windows.
fn within_lines(hir: Hir, spans_lines: bool) -> Hir {
    match hir.into_kind() {
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(literal) => Hir::literal(literal.0),
        HirKind::Class(Class::Unicode(mut class)) => {
            if !spans_lines {
                class.difference(&ClassUnicode::new([
                    ClassUnicodeRange::new('\n', '\n'),
                    ClassUnicodeRange::new('\r', '\r'),
                ]));
            }
            Hir::class(Class::Unicode(class))
        }
        HirKind::Class(Class::Bytes(mut class)) => {
            if !spans_lines {
                class.difference(&ClassBytes::new([
                    ClassBytesRange::new(b'\n', b'\n'),
                    ClassBytesRange::new(b'\r', b'\r'),
                ]));
            }
            Hir::class(Class::Bytes(class))
        }
        // The ends of a text are those of a line, because no file is searched as one text.
        HirKind::Look(Look::Start) if !spans_lines => Hir::look(Look::StartCRLF),
        HirKind::Look(Look::End) if !spans_lines => Hir::look(Look::EndCRLF),
        HirKind::Look(look) => Hir::look(look),
        HirKind::Repetition(Repetition { min, max, greedy, sub }) => {
            let sub = Box::new(within_lines(*sub, spans_lines));
            Hir::repetition(Repetition { min, max, greedy, sub })
        }
        HirKind::Capture(Capture { sub, .. }) => within_lines(*sub, spans_lines),
        HirKind::Concat(parts) => {
            Hir::concat(parts.into_iter().map(|part| within_lines(part, spans_lines)).collect())
        }
        HirKind::Alternation(parts) => {
            Hir::alternation(parts.into_iter().map(|part| within_lines(part, spans_lines)).collect())
        }
    }
}
