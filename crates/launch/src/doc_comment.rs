//! First sentences of the comments of definitions.

use std::collections::BTreeSet;

use crate::evidence::KnownDefinition;
use crate::prose::{Sentence, first_sentence};

/// Maximum number of lines of a comment that are read.
const LINES_MAX: usize = 60;
/// Maximum number of lines of a signature.
const SIGNATURE_LINES_MAX: usize = 20;
/// Maximum number of lines from a definition to the first sentence of the text below it.
const DOCSTRING_REACH: usize = SIGNATURE_LINES_MAX + 2 * LINES_MAX;

/// Returns the first sentence of the comment of a definition, in the text of its file.
#[must_use]
pub fn doc_sentence(text: &str, definition: &KnownDefinition) -> Option<Sentence> {
    let row = usize::try_from(definition.line).ok()?.checked_sub(1)?;
    let lines: Vec<&str> = text.lines().collect();
    if is_python(&definition.path) { docstring(&lines, row) } else { comment_above(&lines, row) }
}

/// Checks whether these lines of a file (1-based) are the first sentence of a definition's comment, with this text.
#[must_use]
pub fn comment_says(path: &str, text: &str, (start_line, end_line): (u32, u32), said: &str) -> bool {
    let row = |line: u32| usize::try_from(line).ok()?.checked_sub(1);
    let (Some(first), Some(last)) = (row(start_line), row(end_line)) else { return false };
    let lines: Vec<&str> = text.lines().collect();
    let is_said = |sentence: Option<Sentence>| {
        sentence.is_some_and(|sentence| {
            (sentence.start_line, sentence.end_line, sentence.text.as_str()) == (start_line, end_line, said)
        })
    };
    if is_python(path) {
        return (first.saturating_sub(DOCSTRING_REACH)..=first).any(|row| is_said(docstring(&lines, row)));
    }
    let is_definition = |row: &usize| lines.get(*row).is_some_and(|line| may_be_definition(line));
    let below = last.saturating_add(1)..=last.saturating_add(LINES_MAX);
    below.filter(is_definition).any(|row| is_said(comment_above(&lines, row)))
}

/// Returns the first sentences of all comments in positions where a definition's comment could be.
#[must_use]
pub fn comment_sentences(path: &str, text: &str) -> BTreeSet<String> {
    let lines: Vec<&str> = text.lines().collect();
    let rows = lines.iter().enumerate();
    let found: Vec<Sentence> = if is_python(path) {
        rows.filter_map(|(row, _)| docstring(&lines, row)).collect()
    } else {
        let definitions = rows.filter(|(_, line)| may_be_definition(line));
        definitions.filter_map(|(row, _)| comment_above(&lines, row)).collect()
    };
    found.into_iter().map(|sentence| sentence.text).collect()
}

/// Returns `true` if a definition may begin on a line: one that is neither blank nor part of a comment.
fn may_be_definition(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("#define") || (!line.is_empty() && comment_text(line).is_none())
}

fn is_python(path: &str) -> bool {
    path.ends_with(".py") || path.ends_with(".pyi")
}

/// The text between three quotes below the signature that begins at a row.
fn docstring(lines: &[&str], row: usize) -> Option<Sentence> {
    let begins = lines.get(row)?.trim_start();
    // Text below a variable documents something else.
    if !["def ", "async def ", "class "].iter().any(|word| begins.starts_with(word)) {
        return None;
    }
    let mut signature = lines.iter().enumerate().skip(row).take(SIGNATURE_LINES_MAX);
    let (end, _) = signature.find(|(_, line)| line.trim_end().ends_with(':'))?;
    let mut below = lines.iter().enumerate().skip(end + 1).take(LINES_MAX);
    let (start, first) = below.find(|(_, line)| !line.trim().is_empty())?;
    let opened = first.trim().trim_start_matches(['r', 'R', 'u', 'U']);
    let quotes = ["\"\"\"", "'''"].into_iter().find(|quotes| opened.starts_with(quotes))?;
    let mut written: Vec<(u32, &str)> = Vec::new();
    for (at, line) in lines.iter().enumerate().skip(start).take(LINES_MAX) {
        let line = if at == start { opened.get(quotes.len()..).unwrap_or_default() } else { line.trim() };
        let closed = line.split_once(quotes);
        written.push((number(at), closed.map_or(line, |(before, _)| before)));
        if closed.is_some() {
            return first_sentence(written.into_iter());
        }
    }
    None
}

/// The lines of a comment directly above a row, and above attributes and annotations.
fn comment_above(lines: &[&str], row: usize) -> Option<Sentence> {
    let mut above: Vec<(u32, &str)> = Vec::new();
    for (at, line) in lines.iter().enumerate().take(row).rev().take(LINES_MAX) {
        let line = line.trim();
        let is_attribute = line.starts_with("#[") || line.starts_with('@');
        if is_attribute && above.is_empty() {
            continue;
        }
        match comment_text(line) {
            Some(text) => above.push((number(at), text)),
            None => break,
        }
    }
    above.reverse();
    first_sentence(above.into_iter())
}

/// The text of a line that is a comment.
fn comment_text(line: &str) -> Option<&str> {
    let markers = ["///", "//!", "/**", "/*", "*/", "//", "*", "##", "#", "---", "--"];
    let marker = markers.into_iter().find(|marker| line.starts_with(marker))?;
    let text = line.get(marker.len()..)?;
    Some(text.trim_end_matches("*/").trim())
}

fn number(row: usize) -> u32 {
    u32::try_from(row + 1).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(path: &str, text: &str, line: u32) -> Option<(String, u32)> {
        let definition = KnownDefinition {
            path: path.to_owned(),
            line,
            name: "f".to_owned(),
            qualified: "f".to_owned(),
            kind: "function".to_owned(),
            is_exported: Some(true),
        };
        doc_sentence(text, &definition).map(|sentence| (sentence.text, sentence.start_line))
    }

    #[test]
    fn comments_of_each_style_are_read() {
        let parses = Some("Parses one order.".to_owned());
        for (path, text, line, at) in [
            ("a.rs", "use x;\n/// Parses one order.\n#[must_use]\npub fn f() {}\n", 4, 2),
            ("a.java", "/**\n * Parses one order. Fails.\n */\n@Override\nvoid f() {}\n", 5, 2),
            ("a.go", "// Parses one order.\nfunc f() {}\n", 2, 1),
            ("a.rb", "# Parses one order.\ndef f\n", 2, 1),
            ("a.py", "def f(\n    a,\n):\n    \"\"\"Parses one order.\"\"\"\n", 1, 4),
            ("a.py", "def f():\n    r'''\n    Parses one order.\n\n    More.\n    '''\n", 1, 3),
        ] {
            assert_eq!(sentence(path, text, line), parses.clone().map(|text| (text, at)), "{text}");
        }
    }

    #[test]
    fn what_is_no_comment_of_the_definition_is_not_read() {
        for (path, text, line) in [
            ("a.rs", "/// Parses one order.\n\npub fn f() {}\n", 3),
            ("a.rs", "fn g() {}\npub fn f() {}\n", 2),
            ("a.py", "def f():\n    return 1\n", 1),
            ("a.py", "def f():\n    \"\"\"Parses one order.\n", 1),
            ("a.py", "F = 1\ndef g():\n    \"\"\"Parses one order.\"\"\"\n", 1),
            ("a.rs", "/// It does not:\n/// - Parses one order.\npub fn f() {}\n", 3),
            ("a.rs", "/// Parses ![no](x) one order.\npub fn f() {}\n", 2),
            ("a.rs", "", 9),
        ] {
            assert_eq!(sentence(path, text, line), None, "{text}");
        }
    }

    #[test]
    fn all_comments_of_a_file_are_found() {
        let rust =
            "/// Parses one order. Fails.\n#[must_use]\npub fn f() {}\n\n// Keeps one order.\nstruct S;\n";
        let found = comment_sentences("a.rs", rust);
        assert_eq!(
            found.iter().map(String::as_str).collect::<Vec<_>>(),
            ["Keeps one order.", "Parses one order."]
        );
        let python = "\"\"\"Not of a definition.\"\"\"\nclass C:\n    \"\"\"Keeps one order.\"\"\"\n";
        assert_eq!(comment_sentences("a.py", python), BTreeSet::from(["Keeps one order.".to_owned()]));
    }

    #[test]
    fn what_is_read_is_said_and_nothing_else() {
        let rust = "/// Parses one order\n/// unless it is empty. Fails.\n#[must_use]\npub fn f() {}\n";
        let whole = "Parses one order unless it is empty.";
        assert!(comment_says("a.rs", rust, (1, 2), whole));
        for (lines, said) in
            [((1, 1), whole), ((2, 2), "Fails."), ((1, 2), "Parses one order."), ((0, 2), whole)]
        {
            assert!(!comment_says("a.rs", rust, lines, said), "{lines:?} {said}");
        }
        // If the sentence continues on the next line, its first line alone does not say the same.
        let open = "// Parses one order.\n// unless it is empty.\nfunc f() {}\n";
        assert!(!comment_says("a.go", open, (1, 1), "Parses one order."));
        let python = "def f(\n    a,\n):\n\n    \"\"\"\n    Parses one order.\n    \"\"\"\n";
        assert!(comment_says("a.py", python, (6, 6), "Parses one order."));
        assert!(!comment_says("a.py", "\"\"\"Parses one order.\"\"\"\n", (1, 1), "Parses one order."));
    }
}
