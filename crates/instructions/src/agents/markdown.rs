//! Reads Markdown line by line: finds the headings, and nests a text below a heading of another one.
//!
//! A `#` inside a fenced block or a comment is not a heading. A fence that is not closed extends to the end, as it does in every
//! Markdown parser.

use crate::canonical::normalised_text;

const LEVEL_MAX: usize = 6;

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    /// Anything without a meaning here.
    Text,
    /// Part of a fenced block or of a comment.
    Verbatim,
    /// `## Title`.
    Heading { level: usize, title: &'a str },
    /// The title of a heading that the next line underlines.
    Underlined { level: usize, title: &'a str },
    /// The line below such a title.
    Underline,
}

/// A block that hides headings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    Fence { mark: char, length: usize },
    Comment,
}

/// The lines of a text.
pub(super) struct Markdown<'a> {
    pub(super) lines: Vec<(&'a str, Kind<'a>)>,
    /// The block that the text leaves open.
    open: Option<Block>,
}

impl<'a> Markdown<'a> {
    /// Reads a text whose lines end with a line feed.
    pub(super) fn read(text: &'a str) -> Self {
        let mut markdown = Self { lines: Vec::new(), open: None };
        // Number of lines of the paragraph that the next line may continue.
        let mut paragraph = 0;
        for line in text.split('\n') {
            let mut kind = markdown.kind(line);
            if paragraph == 1
                && kind == Kind::Text
                && let Some(level) = underline_level(line)
                && let Some((title, title_kind)) = markdown.lines.last_mut()
            {
                *title_kind = Kind::Underlined { level, title: title.trim() };
                kind = Kind::Underline;
            }
            paragraph = match kind {
                Kind::Text => lines_of_paragraph(paragraph, line),
                _ => 0,
            };
            markdown.lines.push((line, kind));
        }
        markdown
    }

    /// Classifies the next line, apart from underlines.
    fn kind(&mut self, line: &'a str) -> Kind<'a> {
        if let Some(block) = self.open {
            if closes(block, line) {
                self.open = None;
            }
            return Kind::Verbatim;
        }
        let Some(start) = unindented(line) else { return Kind::Text };
        if let Some(fence) = opened_fence(start) {
            self.open = Some(fence);
            return Kind::Verbatim;
        }
        if start.starts_with("<!--") {
            self.open = (!closes(Block::Comment, line)).then_some(Block::Comment);
            return Kind::Verbatim;
        }
        heading(start).map_or(Kind::Text, |(level, title)| Kind::Heading { level, title })
    }

    /// Returns the position, level and title of each heading.
    pub(super) fn headings(&self) -> impl Iterator<Item = (usize, usize, &'a str)> {
        self.lines.iter().enumerate().filter_map(|(at, (_, kind))| match *kind {
            Kind::Heading { level, title } | Kind::Underlined { level, title } => Some((at, level, title)),
            _ => None,
        })
    }

    /// Returns the words of the text, except for those in fenced blocks and comments.
    pub(super) fn words(&self) -> impl Iterator<Item = &'a str> {
        let lines = self.lines.iter().filter(|(_, kind)| *kind != Kind::Verbatim);
        lines.flat_map(|(line, _)| {
            line.split(|character: char| !character.is_alphanumeric() && character != '_')
        })
    }

    /// Returns the line that closes the block that the text leaves open.
    fn closing_line(&self) -> Option<String> {
        self.open.map(|block| match block {
            Block::Fence { mark, length } => String::from(mark).repeat(length),
            Block::Comment => "-->".to_owned(),
        })
    }
}

/// Returns the line without its indentation; `None` if the indentation makes it code.
fn unindented(line: &str) -> Option<&str> {
    let start = line.trim_start_matches(' ');
    (line.len() - start.len() < 4).then_some(start)
}

fn opened_fence(start: &str) -> Option<Block> {
    let mark = start.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let info = start.trim_start_matches(mark);
    let length = start.len() - info.len();
    // With more backticks on the line, it is code within a paragraph.
    (length >= 3 && !(mark == '`' && info.contains('`'))).then_some(Block::Fence { mark, length })
}

fn closes(block: Block, line: &str) -> bool {
    match block {
        Block::Comment => line.contains("-->"),
        Block::Fence { mark, length } => unindented(line).is_some_and(|start| {
            let rest = start.trim_start_matches(mark);
            start.len() - rest.len() >= length && rest.trim_matches([' ', '\t']).is_empty()
        }),
    }
}

/// Returns the level and title of a heading that begins with `#`; a heading without a title does not count.
fn heading(start: &str) -> Option<(usize, &str)> {
    let rest = start.trim_start_matches('#');
    let level = start.len() - rest.len();
    if !(1..=LEVEL_MAX).contains(&level) || !rest.starts_with([' ', '\t']) {
        return None;
    }
    let title = without_closing_marks(rest.trim());
    (!title.is_empty()).then_some((level, title))
}

/// Strips the `#` at the end of a title, which only close the heading.
fn without_closing_marks(title: &str) -> &str {
    let start = title.trim_end_matches('#');
    if start.is_empty() || start.ends_with([' ', '\t']) { start.trim() } else { title }
}

/// Writes a heading that reads back with this level and title.
pub(super) fn heading_line(level: usize, title: &str) -> String {
    let closing = if without_closing_marks(title) == title { "" } else { " #" };
    format!("{} {title}{closing}", "#".repeat(level))
}

/// Returns the level of the heading that a line underlines if it follows a paragraph of one line. A single mark is rather a list item.
fn underline_level(line: &str) -> Option<usize> {
    let marks = unindented(line)?.trim_end();
    let all = |mark: char| marks.len() > 1 && marks.chars().all(|character| character == mark);
    if all('=') {
        Some(1)
    } else if all('-') {
        Some(2)
    } else {
        None
    }
}

/// Counts the lines of the paragraph: `before`, and this line if it continues it.
fn lines_of_paragraph(before: usize, line: &str) -> usize {
    let is_rule = line.chars().all(|character| matches!(character, '-' | '*' | '_' | '=' | ' ' | '\t'));
    if line.trim().is_empty() {
        0
    } else if is_rule {
        // More than one, so that text between two lines `---`, which looks like front matter, is not a heading.
        before.max(1) + 1
    } else if before > 0 || begins_paragraph(line) {
        before + 1
    } else {
        0
    }
}

/// Checks whether a line begins a paragraph, rather than a list item, a quote, a table or HTML.
fn begins_paragraph(line: &str) -> bool {
    let Some(start) = unindented(line) else { return false };
    let numbered = start.trim_start_matches(|character: char| character.is_ascii_digit());
    let is_numbered = numbered.len() < start.len() && numbered.starts_with(['.', ')']);
    let is_item = start.starts_with(['-', '*', '+']) && start[1..].starts_with([' ', '\t']);
    !is_numbered && !is_item && !start.starts_with(['>', '|', '<', '\t'])
}

/// A text below a heading.
pub(super) struct Nested {
    pub(super) text: String,
    /// The number of levels by which its headings were lowered.
    pub(super) lowered: usize,
}

/// Lowers the headings of `text` so that the highest has at least `level`, and closes blocks that the text leaves open, so that the
/// text after it stays visible. Underlined headings become headings with `#`, and carriage returns become line feeds. Headings stop
/// at level 6.
pub(super) fn nested(text: &str, level: usize) -> Nested {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let markdown = Markdown::read(&text);
    let highest = markdown.headings().map(|(_, level, _)| level).min();
    let lowered = highest.map_or(0, |highest| level.saturating_sub(highest));
    let mut lines = Vec::with_capacity(markdown.lines.len() + 1);
    for &(line, kind) in &markdown.lines {
        match kind {
            Kind::Heading { level, .. } => {
                lines.push(with_level(line, level, (level + lowered).min(LEVEL_MAX)))
            }
            Kind::Underlined { level, title } => {
                lines.push(heading_line((level + lowered).min(LEVEL_MAX), title))
            }
            Kind::Underline => (),
            Kind::Text | Kind::Verbatim => lines.push(line.to_owned()),
        }
    }
    lines.extend(markdown.closing_line());
    Nested { text: normalised_text(&lines.join("\n")), lowered }
}

/// Raises headings that [`nested`] lowered.
pub(super) fn raised(text: &str, lowered: usize) -> String {
    if lowered == 0 {
        return text.to_owned();
    }
    let markdown = Markdown::read(text);
    let raise = |&(line, kind): &(&str, Kind)| match kind {
        Kind::Heading { level, .. } => with_level(line, level, level.saturating_sub(lowered).max(1)),
        _ => line.to_owned(),
    };
    markdown.lines.iter().map(raise).collect::<Vec<_>>().join("\n")
}

/// Returns the line of a heading with another level; the rest stays.
fn with_level(line: &str, old: usize, new: usize) -> String {
    let indentation = line.len() - line.trim_start_matches(' ').len();
    format!("{}{}{}", &line[..indentation], "#".repeat(new), &line[indentation + old..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn headings(text: &str) -> Vec<(usize, &str)> {
        Markdown::read(text).headings().map(|(_, level, title)| (level, title)).collect()
    }

    #[test]
    fn headings_are_those_that_a_reader_sees() {
        for (text, expected) in [
            (
                "# A\n## B ##\n   ### C#\n#D\n####### E\n    # F\n#\tG\n#\n# #",
                vec![(1, "A"), (2, "B"), (3, "C#"), (1, "G")],
            ),
            ("```sh\n# no\n```\n# yes", vec![(1, "yes")]),
            ("````\n```\n# no\n`````\n# yes", vec![(1, "yes")]),
            ("~~~\n```\n# no\n~~~ x\n~~~\n# yes", vec![(1, "yes")]),
            ("```a`b\n# yes", vec![(1, "yes")]),
            ("```\n# no\n    ```\n# no", vec![]),
            ("<!-- # x\n# no\n--> \n# yes", vec![(1, "yes")]),
            ("<!-- a -->\n# yes", vec![(1, "yes")]),
            ("<!--\n# no", vec![]),
            ("Title\n=====\n\nB\n--\ntext", vec![(1, "Title"), (2, "B")]),
            ("a\nb\n---\n- item\n---\n---\n1. x\n---\n> q\n---\n| t |\n---", vec![]),
            ("```\nx\n```\n---\n\n---\nname: x\n---", vec![]),
            ("> # no\n- # no", vec![]),
        ] {
            assert_eq!(headings(text), expected, "{text}");
        }
    }

    #[test]
    fn a_text_nests_below_a_heading() {
        for (text, level, expected, lowered) in [
            ("# A\ntext\n## B ##\n```\n# c\n```", 3, "### A\ntext\n#### B ##\n```\n# c\n```", 2),
            ("### A", 3, "### A", 0),
            ("no heading", 3, "no heading", 0),
            ("# A\n###### F", 3, "### A\n###### F", 2),
            ("A\n===\nB\n---\n", 3, "### A\n#### B", 2),
            ("~~~~x\n# a", 2, "~~~~x\n# a\n~~~~", 0),
            ("<!-- a", 2, "<!-- a\n-->", 0),
            ("a\r# B", 2, "a\n## B", 1),
        ] {
            let nested = nested(text, level);
            assert_eq!((nested.text.as_str(), nested.lowered), (expected, lowered), "{text}");
        }
        assert_eq!(raised("### A\n#### B ##\n```\n### c\n```", 2), "# A\n## B ##\n```\n### c\n```");
    }

    #[test]
    fn hostile_texts_take_linear_time() {
        let mib = 1 << 20;
        for text in [
            "#".repeat(mib),
            "# ".repeat(mib / 2),
            "`".repeat(mib),
            "- ".repeat(mib / 2),
            "#\n".repeat(mib / 2),
        ] {
            assert!(headings(&text).len() < 2);
            nested(&text, 3);
        }
        assert_eq!(headings(&"a\n=\n===\n\n".repeat(100_000)).len(), 0);
        assert_eq!(headings(&"# a\n".repeat(100_000)).len(), 100_000);
    }

    proptest! {
        #[test]
        fn every_title_reads_back(title in "[#a\\\\`<!> -]{1,12}") {
            let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
            prop_assume!(!title.is_empty());
            for level in 1..=6 {
                let line = heading_line(level, &title);
                prop_assert_eq!(headings(&line), vec![(level, title.as_str())]);
            }
        }

        #[test]
        fn a_nested_text_has_no_higher_heading_and_leaves_nothing_open(
            text in "(#{1,4} a|b|===|---|```|~~~|<!--|-->|\r|  |\n|\n\n){0,12}",
            level in 2..=4_usize,
        ) {
            let once = nested(&text, level);
            let with_next = format!("{}\n\n# next", once.text);
            let found = headings(&with_next);
            prop_assert_eq!(found.last(), Some(&(1, "next")));
            prop_assert!(found[..found.len() - 1].iter().all(|(found, _)| *found >= level), "{:?}", once.text);
            prop_assert_eq!(nested(&once.text, level).text, once.text.clone());
            let back = nested(&raised(&once.text, once.lowered), level);
            prop_assert_eq!((back.text, back.lowered), (once.text, once.lowered));
        }

        #[test]
        fn raising_undoes_lowering(text in "(#{1,4} a ?#{0,2}|b|\n```\n# c\n```\n|  ## d|\n|\n\n){0,12}") {
            let text = normalised_text(&text);
            let nested = nested(&text, 3);
            prop_assert_eq!(raised(&nested.text, nested.lowered), text);
        }
    }
}
