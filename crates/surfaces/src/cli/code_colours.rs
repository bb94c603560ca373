//! Code on a terminal: syntax colours and marked words, in the same classes as on the web pages.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};

use super::output::{MARK, styled};
use crate::code_pieces::{language_of, pieces};
use contract::escaped;
use engine::highlighting::{CodeText, Highlighter};
use languages::highlight::{Highlight, HighlightedSpan, by_line};

/// The number of bytes of code that are coloured together.
const BATCH_BYTES: usize = 256 << 10;
/// The time that an answer waits for colours; the rest of its code is printed without them.
const WAIT: Duration = Duration::from_secs(2);

/// Returns the style of a class. Of the 16 colours of a terminal, only those that are readable on light and dark backgrounds are
/// used; red is reserved for marked words.
const fn style(highlight: Highlight) -> Style {
    match highlight {
        Highlight::Comment => Style::new().dimmed(),
        Highlight::Heading => Style::new().bold(),
        Highlight::Keyword => AnsiColor::Magenta.on_default(),
        Highlight::Function | Highlight::Tag => AnsiColor::Blue.on_default(),
        Highlight::Type | Highlight::Constant | Highlight::Number | Highlight::Attribute => {
            AnsiColor::Cyan.on_default()
        }
        Highlight::String => AnsiColor::Green.on_default(),
        Highlight::Escape => AnsiColor::Green.on_default().bold(),
        Highlight::Property => Style::new(),
    }
}

/// Formats a line of code, escaped, with its colours and marked words.
pub(super) fn painted(text: &str, spans: &[(Range<usize>, Highlight)], marks: &[Range<usize>]) -> String {
    let shown = pieces(text.len(), spans, marks).into_iter().map(|piece| {
        let style = if piece.is_marked { MARK } else { piece.highlight.map(style).unwrap_or_default() };
        styled(style, &escaped(text.get(piece.range).unwrap_or_default()))
    });
    shown.collect()
}

/// The colours of the code in an answer. The answer is first rendered without them, which collects the code to colour.
#[derive(Debug, Default)]
pub(super) struct CodeColours {
    /// The known colours, by language and text.
    known: HashMap<&'static str, HashMap<String, Vec<HighlightedSpan>>>,
    /// Code that was rendered before its colours were known.
    missing: RefCell<Vec<(&'static str, String)>>,
}

impl CodeColours {
    /// Returns the coloured parts of each of several consecutive lines of a file.
    pub(super) fn of_lines(&self, file: &str, lines: &[&str]) -> Vec<Vec<(Range<usize>, Highlight)>> {
        let text = lines.join("\n");
        let spans = self.of_text(file, &text);
        let mut coloured = by_line(&text, spans);
        let of_line = |line: &&str| {
            // The last line is missing if it is empty. A line that contains a line ending differs, and stays uncoloured.
            let found = coloured.next().filter(|found| found.text == *line);
            found.map(|found| found.spans).unwrap_or_default()
        };
        lines.iter().map(of_line).collect()
    }

    fn of_text(&self, file: &str, text: &str) -> &[HighlightedSpan] {
        let Some(language) = language_of(file) else { return &[] };
        match self.known.get(language).and_then(|texts| texts.get(text)) {
            Some(spans) => spans,
            None => {
                self.missing.borrow_mut().push((language, text.to_owned()));
                &[]
            }
        }
    }

    /// Colours the code that was rendered without colours.
    pub(super) async fn fill(&mut self, highlighter: &Arc<Highlighter>) {
        let began = Instant::now();
        let missing = self.missing.take();
        for batch in batches(&missing) {
            if began.elapsed() > WAIT {
                return;
            }
            let code = |(language, text): &(&str, String)| CodeText {
                language: (*language).to_owned(),
                text: text.clone(),
            };
            let spans = highlighter.highlight(batch.iter().map(code).collect()).await;
            for ((language, text), spans) in batch.iter().zip(spans) {
                self.known.entry(language).or_default().insert(text.clone(), spans);
            }
        }
    }
}

/// Splits the texts, in order, into groups of at most [`BATCH_BYTES`] or one text.
fn batches<'a>(texts: &'a [(&'static str, String)]) -> impl Iterator<Item = &'a [(&'static str, String)]> {
    let mut rest = texts;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |(_, text): &&(&str, String)| {
            bytes += text.len();
            bytes <= BATCH_BYTES
        };
        let count = rest.iter().take_while(fits).count().max(1).min(rest.len());
        let (batch, others) = rest.split_at(count);
        rest = others;
        (!batch.is_empty()).then_some(batch)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::indexing::parser::Parsing;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[tokio::test]
    async fn code_is_coloured_after_it_was_shown_once() {
        let mut colours = CodeColours::default();
        let lines = ["def f():", "    pass  # é", ""];
        assert_eq!(colours.of_lines("a.py", &lines), [vec![], vec![], vec![]]);
        colours.fill(&Arc::new(Highlighter::new(Parsing::InProcess))).await;
        let coloured = colours.of_lines("a.py", &lines);
        assert_eq!(coloured[0][0], (0..3, Highlight::Keyword));
        assert!(coloured[1].contains(&(10..14, Highlight::Comment)), "{coloured:?}");
        assert!(colours.missing.borrow().is_empty());
        let line = painted(lines[1], &coloured[1], &[]);
        assert!(line.contains("\u{1b}[35mpass\u{1b}[0m") && line.contains("\u{1b}[2m# é"), "{line:?}");
        assert_eq!(plain(&line), lines[1]);
    }

    #[test]
    fn marks_win_over_colours_and_hostile_text_stays_escaped() {
        let text = "x\u{1b}]8;;http://evil\u{1b}\\\u{202e}y\u{9b}31m";
        let spans = [(0..1, Highlight::Keyword), (1..text.len(), Highlight::String)];
        let shown = painted(text, &spans, &[0..1, 22..28]);
        assert!(shown.starts_with(&styled(MARK, "x")), "{shown:?}");
        let ours = plain(&shown);
        assert_eq!(ours, escaped(text), "no sequence of the text is left, so nothing else is stripped");
        assert!(!ours.contains(char::is_control));
    }

    #[test]
    fn batches_are_bounded_and_complete() {
        let texts: Vec<(&'static str, String)> =
            [1, BATCH_BYTES, BATCH_BYTES * 2, 5, 6].map(|length| ("rust", "x".repeat(length))).into();
        let counts: Vec<usize> = batches(&texts).map(<[_]>::len).collect();
        assert_eq!(counts, [1, 1, 1, 2]);
        assert_eq!(batches(&[]).count(), 0);
    }

    #[test]
    fn every_class_is_readable_on_light_and_dark() {
        for highlight in Highlight::ALL {
            let colour = style(highlight).get_fg_color();
            let unreadable = [AnsiColor::Black, AnsiColor::White, AnsiColor::Yellow, AnsiColor::Red];
            assert!(unreadable.iter().all(|bad| colour != Some((*bad).into())), "{highlight:?}");
        }
    }
}
