//! Styles answers that contain code: on a terminal with syntax colours, marked words and paths that are links.

use std::ops::Range;

use serde_json::Value;

use super::code_colours::{CodeColours, painted};
use super::hyperlinks::{LinkedPlace, Links};
use super::session::{Exit, Session, ToolAnswer};
use crate::marks::Marks;

/// The colours, marks and links of an answer; empty by default.
#[derive(Debug, Default)]
pub(super) struct AnswerStyle {
    colours: CodeColours,
    marks: Marks,
    links: Links,
}

/// A line of code to show.
#[derive(Debug, Clone)]
pub(super) struct CodeLine<'a> {
    /// The line without its line ending.
    pub(super) text: &'a str,
    /// The range that matched according to the answer, in bytes; marked if the words of the query are not found.
    pub(super) matched: Option<Range<usize>>,
}

impl<'a> From<&'a str> for CodeLine<'a> {
    fn from(text: &'a str) -> Self {
        Self { text, matched: None }
    }
}

impl AnswerStyle {
    /// Formats consecutive lines of a file, escaped.
    pub(super) fn lines(&self, file: &str, lines: &[CodeLine<'_>]) -> Vec<String> {
        let texts: Vec<&str> = lines.iter().map(|line| line.text).collect();
        let spans = self.colours.of_lines(file, &texts);
        let shown = lines.iter().zip(spans).map(|(line, spans)| {
            let mut marks = self.marks.within(line.text);
            let matched = line.matched.clone().filter(|matched| line.text.get(matched.clone()).is_some());
            if marks.is_empty() {
                marks.extend(matched);
            }
            painted(line.text, &spans, &marks)
        });
        shown.collect()
    }

    /// Formats one line of a file, escaped.
    pub(super) fn line(&self, file: &str, text: &str) -> String {
        self.lines(file, &[text.into()]).concat()
    }

    /// Returns the text as a link to a place.
    pub(super) fn link(&self, place: &LinkedPlace<'_>, text: String) -> String {
        self.links.link(place, text)
    }
}

/// Prints an answer with code, through the pager if it is long.
pub(super) async fn page_code(
    session: &Session,
    answer: &ToolAnswer,
    marks: Marks,
    render: impl Fn(&Value, &AnswerStyle) -> String,
) -> Exit {
    let style = style(session, answer, marks, &render).await;
    let print = |text: &str| session.terminal.print(session.output, text);
    session.output.answer_through(answer, |result| render(result, &style), print)
}

/// As [`page_code`], without the pager, for commands that print more than the answer.
pub(super) async fn print_code(
    session: &Session,
    answer: &ToolAnswer,
    marks: Marks,
    render: impl Fn(&Value, &AnswerStyle) -> String,
) -> Exit {
    let style = style(session, answer, marks, &render).await;
    session.output.answer(answer, |result| render(result, &style))
}

async fn style(
    session: &Session,
    answer: &ToolAnswer,
    marks: Marks,
    render: &impl Fn(&Value, &AnswerStyle) -> String,
) -> AnswerStyle {
    let has_colours = session.terminal.has_colours && !session.output.json;
    let Some(result) = answer.envelope.result.as_ref().filter(|_| has_colours) else {
        return AnswerStyle::default();
    };
    let links = Links::new(&session.app, session.terminal.link_format.as_ref(), &answer.envelope).await;
    let mut style = AnswerStyle { marks, links, ..AnswerStyle::default() };
    // The first rendering collects the code to colour, the second one has the colours.
    render(result, &style);
    style.colours.fill(&session.app.highlighter).await;
    style
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_query_are_marked_or_else_what_the_answer_says() {
        let line = CodeLine { text: "let foo = bar;", matched: Some(4..7) };
        let shown =
            |marks| AnswerStyle { marks, ..AnswerStyle::default() }.lines("x", std::slice::from_ref(&line));
        assert_eq!(shown(Marks::default()), ["let \u{1b}[1m\u{1b}[31mfoo\u{1b}[0m = bar;"]);
        assert_eq!(shown(Marks::of_query("bar")), ["let foo = \u{1b}[1m\u{1b}[31mbar\u{1b}[0m;"]);
        let beyond = CodeLine { text: "é", matched: Some(1..9) };
        assert_eq!(AnswerStyle::default().lines("x", &[beyond]), ["é"]);
    }
}
