//! Splits a Markdown file into the parts that are separate rules.
//!
//! The level of the headings that hold the rules is 2 if there is any `##`; else 1 if there are several `#`; else the highest
//! level below 1 that occurs. Each heading of this level begins a rule. A single `#` is the title of the file; if there are several,
//! each is the context of the rules below it.

use contract::truncate_chars;

use super::markdown::{Kind, Markdown};
use crate::canonical::normalised_text;

/// Maximum number of rules of a file.
const SECTIONS_MAX: usize = 1000;
/// Longest context in a heading, in characters.
const CONTEXT_CHARS_MAX: usize = 80;

/// A part of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    /// Its heading; `None` if it has none.
    pub(super) heading: Option<String>,
    /// `true` if the heading distinguishes it from other parts of the file.
    pub(super) is_named: bool,
    /// Its text without the heading. Empty only if the heading alone is the rule.
    pub(super) body: String,
}

/// Lines between two headings.
struct Piece<'a> {
    /// Level and title of the heading above.
    heading: Option<(usize, &'a str)>,
    body: String,
}

/// Returns the rules of a file that people wrote.
///
/// # Errors
/// If there are too many.
pub(super) fn of_people(text: &str) -> Result<Vec<Section>, String> {
    let markdown = Markdown::read(text);
    let levels: Vec<usize> = markdown.headings().map(|(_, level, _)| level).collect();
    let titles = levels.iter().filter(|level| **level == 1).count();
    let rule_level = if levels.contains(&2) {
        2
    } else if titles > 1 {
        1
    } else {
        levels.iter().copied().filter(|level| *level > 2).min().unwrap_or(2)
    };
    let mut pieces = pieces(&markdown, rule_level)?;
    for piece in &mut pieces {
        piece.body = without_separators(std::mem::take(&mut piece.body));
    }
    Ok(if titles == 1 { with_file_title(pieces) } else { with_contexts(pieces, rule_level) })
}

/// Strips lines `---` at the end of a text, which only separate it from the next section.
fn without_separators(text: String) -> String {
    let is_separator =
        |line: &str| line.trim().len() > 2 && line.trim().chars().all(|character| character == '-');
    let mut kept = text.as_str();
    loop {
        let (before, last) = kept.rsplit_once('\n').unwrap_or(("", kept));
        // Directly below a line of text, it would make that line a heading.
        let is_below_text = before.rsplit('\n').next().is_some_and(|line| !line.trim().is_empty());
        if is_below_text || !is_separator(last) {
            return kept.to_owned();
        }
        kept = before.trim_end_matches('\n');
    }
}

/// Returns the rules of a file with one title: the text before the first rule is one section.
fn with_file_title(pieces: Vec<Piece>) -> Vec<Section> {
    let mut title = None;
    let mut introduction = Vec::new();
    let mut rules = Vec::new();
    for Piece { heading, body } in pieces {
        match heading {
            Some((level, rule)) if level > 1 => rules.push(named(rule.to_owned(), body)),
            heading => {
                title = title.or(heading.map(|(_, title)| title.to_owned()));
                introduction.push(body);
            }
        }
    }
    let body = normalised_text(&introduction.join("\n\n"));
    let first = Section { heading: title, is_named: false, body };
    Some(first).filter(|section| !section.body.is_empty()).into_iter().chain(rules).collect()
}

/// Returns the rules of a file without a title, or with several, which are then the contexts of the rules below them.
fn with_contexts(pieces: Vec<Piece>, rule_level: usize) -> Vec<Section> {
    let mut context: Option<String> = None;
    let mut sections = Vec::new();
    for Piece { heading, body } in pieces {
        match heading {
            None if body.is_empty() => {}
            None => sections.push(Section { heading: None, is_named: false, body }),
            Some((1, title)) => {
                context = Some(truncate_chars(title.to_owned(), CONTEXT_CHARS_MAX));
                if rule_level == 1 || !body.is_empty() {
                    sections.push(named(title.to_owned(), body));
                }
            }
            Some((_, rule)) => {
                let context = context.as_ref().map(|context| format!("{context}: ")).unwrap_or_default();
                sections.push(named(format!("{context}{rule}"), body));
            }
        }
    }
    sections
}

fn named(heading: String, body: String) -> Section {
    Section { heading: Some(heading), is_named: true, body }
}

/// Returns the rules of a generated file: all headings of the first one's level are titles of entries, and bodies have lower ones.
///
/// # Errors
/// If there are too many.
pub(super) fn of_generated(text: &str) -> Result<Vec<Section>, String> {
    let markdown = Markdown::read(text);
    let level = markdown.headings().next().map_or(1, |(_, level, _)| level);
    let section = |Piece { heading, body }: Piece| match heading {
        Some((_, title)) => named(title.to_owned(), body),
        None => Section { heading: None, is_named: false, body },
    };
    let is_rule = |section: &Section| section.is_named || !section.body.is_empty();
    Ok(pieces(&markdown, level)?.into_iter().map(section).filter(is_rule).collect())
}

/// Returns a file as one rule. A title at its beginning is the title of the rule.
pub(super) fn whole(text: &str) -> Option<Section> {
    let markdown = Markdown::read(text);
    let first = markdown.lines.iter().position(|(line, _)| !line.trim().is_empty())?;
    let title = markdown.headings().next().filter(|(at, level, _)| (*at, *level) == (first, 1));
    let body = match title {
        Some((at, ..)) => body(&markdown, at, markdown.lines.len()),
        None => normalised_text(text),
    };
    let heading = title.map(|(_, _, title)| title.to_owned());
    Some(Section { heading, is_named: false, body }).filter(|section| !section.body.is_empty())
}

/// Splits a text before each heading of at most this level.
fn pieces<'a>(markdown: &Markdown<'a>, level: usize) -> Result<Vec<Piece<'a>>, String> {
    let cuts: Vec<(usize, usize, &str)> = markdown.headings().filter(|(_, own, _)| *own <= level).collect();
    if cuts.len() > SECTIONS_MAX {
        return Err(format!("The file has {} sections; at most {SECTIONS_MAX} are allowed.", cuts.len()));
    }
    let first_end = cuts.first().map_or(markdown.lines.len(), |(at, ..)| *at);
    let mut pieces = vec![Piece { heading: None, body: joined(markdown, 0, first_end) }];
    for (index, &(at, level, title)) in cuts.iter().enumerate() {
        let end = cuts.get(index + 1).map_or(markdown.lines.len(), |(at, ..)| *at);
        pieces.push(Piece { heading: Some((level, title)), body: body(markdown, at, end) });
    }
    Ok(pieces)
}

/// Returns the lines below the heading at `at`.
fn body(markdown: &Markdown, at: usize, end: usize) -> String {
    let is_underlined = matches!(markdown.lines[at].1, Kind::Underlined { .. });
    joined(markdown, at + 1 + usize::from(is_underlined), end)
}

fn joined(markdown: &Markdown, start: usize, end: usize) -> String {
    let lines: Vec<&str> = markdown.lines[start..end].iter().map(|(line, _)| *line).collect();
    normalised_text(&lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Heading, whether it names the section, and body.
    type Expected<'a> = (Option<&'a str>, bool, &'a str);

    fn assert_sections(sections: &[Section], expected: &[Expected], text: &str) {
        let found: Vec<Expected> = sections
            .iter()
            .map(|section| (section.heading.as_deref(), section.is_named, section.body.as_str()))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_file_is_cut_where_its_rules_begin() {
        for (text, expected) in [
            ("", &[][..]),
            ("just text", &[(None, false, "just text")]),
            ("# Title", &[]),
            ("# Title\ntext", &[(Some("Title"), false, "text")]),
            (
                "before\n# Title\nintro\n## A\na\n### a1\n## B",
                &[
                    (Some("Title"), false, "before\n\nintro"),
                    (Some("A"), true, "a\n### a1"),
                    (Some("B"), true, ""),
                ],
            ),
            ("intro\n## A\na", &[(None, false, "intro"), (Some("A"), true, "a")]),
            ("# A\na\n# B\nb\n### c", &[(Some("A"), true, "a"), (Some("B"), true, "b\n### c")]),
            (
                "# Web\n## Style\ns\n# API\nall\n## Style\nt",
                &[
                    (Some("Web: Style"), true, "s"),
                    (Some("API"), true, "all"),
                    (Some("API: Style"), true, "t"),
                ],
            ),
            ("# T\n### A\na\n#### x\n### B\nb", &[(Some("A"), true, "a\n#### x"), (Some("B"), true, "b")]),
            ("T\n===\n\nA\n---\na", &[(Some("A"), true, "a")]),
            (
                "# T\n\n---\n\n## A\na\n\n---\n\n## B\n---\nx\n---\n",
                &[(Some("A"), true, "a"), (Some("B"), true, "---\nx\n---")],
            ),
            ("## A\n```\n## no\n## B", &[(Some("A"), true, "```\n## no\n## B")]),
        ] {
            assert_sections(&of_people(text).unwrap(), expected, text);
        }
    }

    #[test]
    fn what_multiplies_is_bounded() {
        let many = format!("# {}\n{}# B\n", "x".repeat(100_000), "## y\n".repeat(998));
        let sections = of_people(&many).unwrap();
        assert_eq!(sections.len(), 998);
        assert!(sections.iter().all(|section| section.heading.as_ref().unwrap().len() < 100));
        assert!(of_people(&format!("{many}## z")).unwrap_err().contains("1001 sections"));
    }

    #[test]
    fn a_generated_file_is_cut_at_its_first_level_only() {
        let text = "# A\na\n## a1\n### a2";
        assert_sections(&of_generated(text).unwrap(), &[(Some("A"), true, "a\n## a1\n### a2")], text);
        let text = "added\n## A\na\n### a1\n# B\nb\n## C\nc";
        let expected: &[Expected] = &[
            (None, false, "added"),
            (Some("A"), true, "a\n### a1"),
            (Some("B"), true, "b"),
            (Some("C"), true, "c"),
        ];
        assert_sections(&of_generated(text).unwrap(), expected, text);
    }

    #[test]
    fn a_whole_file_has_a_title_if_it_begins_with_one() {
        for (text, expected) in [
            ("\n# T\n\nb\n## c\n# d", Some((Some("T"), false, "b\n## c\n# d"))),
            ("T\n===\nb", Some((Some("T"), false, "b"))),
            ("a\n# T", Some((None, false, "a\n# T"))),
            ("## T\nb", Some((None, false, "## T\nb"))),
            ("# T", None),
            ("\n ", None),
        ] {
            let sections: Vec<Section> = whole(text).into_iter().collect();
            assert_sections(&sections, &expected.into_iter().collect::<Vec<_>>(), text);
        }
    }
}
