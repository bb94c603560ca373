//! A pattern of exact search: a regular expression or a literal text, compiled to match within lines.
//!
//! Lines are matched as ripgrep does: `.`, `\s` and negated classes do not match line ends, `^` and `$` are the ends of a line,
//! and a carriage return before a line feed belongs to the line end. A pattern that needs line ends (a literal `\n`, a class
//! of all characters as `(?s).` is) may match across the lines of one chunk instead.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use regex_automata::Input;
use regex_automata::meta::{Config, Regex};
use regex_syntax::ParserBuilder;
use regex_syntax::ast::{self, Ast, ClassSetItem};
use regex_syntax::hir::{
    Capture, Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look,
    Repetition,
};

use super::trigrams::trigrams;
use contract::{ErrorCode, Fault, echo};
use languages::nfc;
use store::GramQuery;

/// Maximum depth of nested groups, which bounds the recursion over a parsed pattern.
const NEST_MAX: u32 = 50;
/// Size limit of the compiled pattern in bytes. The time for a text grows with it, if the lazy automaton gives up.
const COMPILED_BYTES_MAX: usize = 10 * 1024 * 1024;
/// Work that is done without checking the clock, as positions of the pattern times bytes of the text: less than a second, unless the
/// machine is very busy.
const UNINTERRUPTED_WORK_MAX: u64 = 200_000_000;
/// Bytes of the lazy automaton's cache.
const CACHE_BYTES: usize = 2 * 1024 * 1024;
/// A pattern that matches all of these lines matches every line: they have little in common. One is longer than a pattern counts.
const UNLIKE_LINES: [&str; 4] = ["", "\u{e000}", "# \"'`/\\<>", "word Word_9 = (x + 1) * [2]; {"];
const LONG_LINE_CHARS: usize = 2_000;

/// Kind of the pattern of an exact search.
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
    /// Condition on the trigrams of every text with a match.
    grams: GramQuery,
    /// `true` if a match may contain line ends.
    spans_lines: bool,
    /// `true` if blank lines match.
    matches_blank: bool,
    /// Number of positions: repetitions count as often as they repeat. The time for a text grows with them.
    positions: u64,
}

/// State of a search in texts: the signal to stop, and the number of skipped lines.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Set from outside, to end it between two steps.
    pub(super) stop: AtomicBool,
    /// Number of lines, or of texts if the pattern spans lines, that are too long for the pattern.
    pub(super) too_long: AtomicUsize,
}

impl Pattern {
    /// Compiles a regular expression.
    ///
    /// # Errors
    /// `INVALID_REQUEST` if it is malformed, too large or matches every line.
    pub(in crate::search) fn regex(text: &str, exact_case: bool) -> Result<Self, Fault> {
        let text = &*nfc(text);
        let mut parser = ParserBuilder::new();
        parser.multi_line(true).crlf(true).case_insensitive(!exact_case).nest_limit(NEST_MAX);
        let hir = parser.build().parse(text).map_err(|error| malformed(text, &error))?;
        let ast = ast::parse::ParserBuilder::new().nest_limit(NEST_MAX).build().parse(text);
        let spans_lines = has_all_characters(&hir) || ast.is_ok_and(|ast| writes_line_feed(&ast));
        Self::compiled(text, hir, spans_lines)
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

    fn compiled(text: &str, hir: Hir, spans_lines: bool) -> Result<Self, Fault> {
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
        let long_line = "x".repeat(LONG_LINE_CHARS);
        if UNLIKE_LINES.iter().chain([&long_line.as_str()]).all(|line| regex.is_match(line)) {
            return Err(refused(text, "it matches every line", "Write what a line has to contain."));
        }
        Ok(Self { regex, grams, spans_lines, matches_blank, positions: positions(&hir) })
    }

    /// Returns the condition on the trigrams of every text with a match.
    pub(in crate::search) fn grams(&self) -> &GramQuery {
        &self.grams
    }

    /// Returns whether a match may contain line ends, so that it ends with its chunk.
    pub(in crate::search) fn spans_lines(&self) -> bool {
        self.spans_lines
    }

    /// Returns whether blank lines match. Those between chunks are not stored.
    pub(in crate::search) fn matches_blank(&self) -> bool {
        self.matches_blank
    }

    /// Returns whether a text has a match; a line that takes long is passed over.
    pub(in crate::search) fn is_in(&self, text: &str) -> bool {
        self.find_at(text, 0, &Scan::default()).is_some()
    }

    /// Returns the first match that begins at byte `from` or later, as its start and end. A text that takes long is matched line by line,
    /// so that `scan` can stop it between two; a line that takes long by itself is passed over.
    pub(super) fn find_at(&self, text: &str, from: usize, scan: &Scan) -> Option<(usize, usize)> {
        let text = without_last_return(text);
        let find = |from: usize, to: usize| {
            let found = self.regex.find(Input::new(text).range(from..to))?;
            Some((found.start(), found.end()))
        };
        let mut from = from.min(text.len());
        if self.is_quick(text.len() - from) {
            return find(from, text.len());
        }
        if self.spans_lines {
            scan.too_long.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        while !scan.stop.load(Ordering::Relaxed) {
            let end = text[from..].find('\n').map_or(text.len(), |at| from + at);
            if !self.is_quick(end - from) {
                scan.too_long.fetch_add(1, Ordering::Relaxed);
            } else if let Some(found) = find(from, end) {
                return Some(found);
            }
            if end == text.len() {
                break;
            }
            from = end + 1;
        }
        None
    }

    fn is_quick(&self, bytes: usize) -> bool {
        self.positions.saturating_mul(bytes as u64) <= UNINTERRUPTED_WORK_MAX
    }
}

/// The text of a chunk ends before its last line feed, so a carriage return at its end is the start of a line end.
fn without_last_return(text: &str) -> &str {
    text.strip_suffix('\r').unwrap_or(text)
}

fn malformed(text: &str, error: &regex_syntax::Error) -> Fault {
    // The last line of the parser's report is the reason; the lines before show the position.
    let report = error.to_string();
    let reason = report.lines().next_back().unwrap_or("malformed").trim_start_matches("error: ");
    refused(text, &format!("it is not a regular expression that can be searched: {reason}"), hint(&report))
}

fn refused(text: &str, why: &str, hint: &str) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, format!("The pattern cannot be searched: {why}."))
        .with_details(serde_json::json!({ "pattern": echo(text) }))
        .with_hint(hint)
}

/// Returns the hint for a pattern that the parser refuses.
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

/// Returns whether a class of the pattern has all characters, line ends included: `(?s).`, `[\s\S]`.
fn has_all_characters(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) | HirKind::Literal(_) | HirKind::Class(Class::Bytes(_)) => false,
        HirKind::Class(Class::Unicode(class)) => {
            class.ranges() == [ClassUnicodeRange::new('\0', char::MAX)].as_slice()
        }
        HirKind::Repetition(repetition) => has_all_characters(&repetition.sub),
        HirKind::Capture(capture) => has_all_characters(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(has_all_characters),
    }
}

/// Returns whether a line feed is written in the pattern, by itself or in a class that is not negated. In the parsed pattern, a class such
/// as `\s` contains one as well, but not on purpose.
fn writes_line_feed(ast: &Ast) -> bool {
    struct LineFeeds {
        negated: usize,
        found: bool,
    }
    impl ast::Visitor for LineFeeds {
        type Output = bool;
        type Err = std::convert::Infallible;

        fn finish(self) -> Result<bool, Self::Err> {
            Ok(self.found)
        }

        fn visit_pre(&mut self, ast: &Ast) -> Result<(), Self::Err> {
            match ast {
                Ast::Literal(literal) => self.found |= literal.c == '\n',
                Ast::ClassBracketed(class) => self.negated += usize::from(class.negated),
                _ => {}
            }
            Ok(())
        }

        fn visit_post(&mut self, ast: &Ast) -> Result<(), Self::Err> {
            if let Ast::ClassBracketed(class) = ast {
                self.negated -= usize::from(class.negated);
            }
            Ok(())
        }

        fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Self::Err> {
            match item {
                ClassSetItem::Literal(literal) => self.found |= literal.c == '\n' && self.negated == 0,
                ClassSetItem::Bracketed(class) => self.negated += usize::from(class.negated),
                _ => {}
            }
            Ok(())
        }

        fn visit_class_set_item_post(&mut self, item: &ClassSetItem) -> Result<(), Self::Err> {
            if let ClassSetItem::Bracketed(class) = item {
                self.negated -= usize::from(class.negated);
            }
            Ok(())
        }
    }
    ast::visit(ast, LineFeeds { negated: 0, found: false }).unwrap_or(false)
}

/// Counts the positions of a pattern: characters and classes, as often as they are repeated.
fn positions(hir: &Hir) -> u64 {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(_) => 1,
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min.saturating_add(1));
            positions(&repetition.sub).saturating_mul(u64::from(times))
        }
        HirKind::Capture(capture) => positions(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().map(positions).fold(0, u64::saturating_add)
        }
    }
}

/// Removes capture groups, which are never read, and, unless matches may span lines, line feeds and carriage returns from all classes; a
/// literal `\r` finds the line ends of Windows.
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
