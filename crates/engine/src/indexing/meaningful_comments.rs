//! Selects meaningful comments: skips dividers, commented-out code, licences and comments of fewer than two words.

use std::borrow::Cow;

use languages::facts::Comment;

/// Minimum letters and words of a meaningful comment; in scripts without spaces two letters suffice.
const LETTERS_MIN: usize = 6;
const WORDS_MIN: usize = 2;
/// Minimum length of a divider.
const DIVIDER_CHARS_MIN: usize = 4;
const DIVIDER_MARKS: &[char] =
    &['-', '=', '*', '#', '~', '_', '+', '/', '<', '>', '\u{2500}', '\u{2550}', '\u{2014}'];
/// Keywords of declarations.
const DECLARING_WORDS: &[&str] = &[
    "let", "const", "var", "val", "static", "final", "auto", "local", "my", "pub", "public", "private",
    "protected", "export",
];
/// Phrases of licence notices, which say nothing about the code.
const LICENCE_WORDS: &[&str] = &[
    "licensed under",
    "license:",
    "all rights reserved",
    "spdx-",
    "permission is hereby granted",
    "gnu general public license",
    "apache license",
    "mit license",
    "redistribution and use in source",
    "mozilla public",
];

/// Returns the text of a comment without dividers and commented-out code; `None` if nothing meaningful is left.
pub(super) fn meaningful_text(comment: &Comment) -> Option<Cow<'_, str>> {
    // Code in doc comments is an example; elsewhere it is commented-out code.
    let drops = |line: &&str| is_divider(line) || (!comment.doc && is_code_line(line.trim()));
    let text: Cow<'_, str> = if comment.text.lines().any(|line| drops(&line)) {
        let kept: Vec<&str> = comment.text.lines().filter(|line| !drops(line)).collect();
        Cow::Owned(kept.join("\n").trim().to_owned())
    } else {
        Cow::Borrowed(comment.text.as_str())
    };
    let is_meaningful =
        is_long_enough(&text) && !is_licence(&text) && (comment.doc || !is_code(&comment.text));
    is_meaningful.then_some(text)
}

fn is_long_enough(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic());
    let (mut count, mut spaceless) = (0_usize, 0_usize);
    for c in letters {
        count += 1;
        spaceless += usize::from(is_spaceless(c));
    }
    let words = text.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).take(WORDS_MIN);
    (count >= LETTERS_MIN && words.count() >= WORDS_MIN) || spaceless >= WORDS_MIN
}

/// Returns whether the letter belongs to a script without spaces: Chinese, Japanese, Thai or Lao.
fn is_spaceless(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0eff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{2ffff}')
}

/// Returns whether the line divides sections, with or without a title: `---- helpers ----`.
fn is_divider(line: &str) -> bool {
    let mut run = 0_usize;
    let mut before = None;
    for c in line.chars() {
        run = if DIVIDER_MARKS.contains(&c) && (run == 0 || before == Some(c)) {
            run + 1
        } else {
            usize::from(DIVIDER_MARKS.contains(&c))
        };
        if run >= DIVIDER_CHARS_MIN {
            return true;
        }
        before = Some(c);
    }
    false
}

fn is_licence(text: &str) -> bool {
    let lower = text.to_lowercase();
    let claims = lower.split("copyright").skip(1).any(|rest| {
        let rest = rest.trim_start();
        rest.starts_with(|c: char| c.is_ascii_digit() || c == '\u{a9}')
            || rest.starts_with("(c)")
            || rest.starts_with("the ")
    });
    claims || LICENCE_WORDS.iter().any(|word| lower.contains(word))
}

/// Returns whether more than half of the non-empty lines are code.
fn is_code(text: &str) -> bool {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let (mut all, mut code) = (0_usize, 0_usize);
    for line in lines {
        all += 1;
        code += usize::from(is_code_line(line));
    }
    2 * code > all
}

fn is_code_line(line: &str) -> bool {
    // Statements and blocks end like this; sentences do not.
    if line.ends_with([';', '{', '}']) || line.ends_with("):") || line.ends_with("=>") || line.ends_with("->")
    {
        return true;
    }
    let words = line.split_whitespace().count();
    // `call(a, b)`, `a.b.c(d).e()`
    let head = line.split('(').next().unwrap_or_default();
    let is_name = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_.:$@!>-[]'".contains(c))
    };
    if line.ends_with(')') && head.len() < line.len() && is_name(head) {
        return true;
    }
    // `x = y`, `let x = y`, `const X: T = y`, `self.x += y`
    let sign = [" = ", " := ", " += ", " -= ", " == "].iter().filter_map(|sign| line.find(sign)).min();
    let assigned = sign.is_some_and(|at| {
        let before: Vec<&str> = line[..at].split_whitespace().collect();
        let declares = before.first().is_some_and(|word| DECLARING_WORDS.contains(word));
        (before.len() <= 2 || (declares && before.len() <= 4))
            && before.last().is_some_and(|word| is_name(word))
    });
    if assigned {
        return true;
    }
    let begins = |word: &str| line.starts_with(word);
    (words <= 4
        && ["import ", "from ", "use ", "#include", "return ", "def ", "fn ", "func ", "class "]
            .iter()
            .any(|word| begins(word))
        && line.contains(['.', ':', '(', '<', '"']))
        || (line.starts_with('<') && line.ends_with('>'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comment(doc: bool, text: &str) -> Comment {
        Comment { start_line: 1, end_line: 1, doc, text: text.to_owned() }
    }

    #[test]
    fn meaningful_comments_are_kept() {
        for text in [
            "retries twice",
            "Opens it.",
            "because it is so and",
            "if this fails: try the next one",
            "use the cache (it is warm)",
            "for example:",
            "returns early when empty",
            "\u{91cd}\u{8bd5}\u{4e24}\u{6b21}",
            "The value x = 3 is what the device wants.",
            "The copyright of a text is shown below it.",
            "see RFC 7231, section 6",
        ] {
            assert!(meaningful_text(&comment(false, text)).is_some(), "{text}");
        }
        let titled = comment(false, "==== helpers ====\nThey are used twice.");
        assert_eq!(meaningful_text(&titled).as_deref(), Some("They are used twice."));
        let beside = comment(false, "names the host\nlet old = encode(mail);");
        assert_eq!(
            meaningful_text(&beside).as_deref(),
            Some("names the host"),
            "behind code, with code below it"
        );
        assert!(meaningful_text(&comment(true, "let x = open();")).is_some(), "documentation shows code");
    }

    #[test]
    fn dividers_licences_and_code_are_skipped() {
        for text in [
            "----------",
            "==== private helpers ====",
            "ok",
            "x",
            "12 34",
            "Copyright 2020 by the authors of this file.",
            "Licensed under the Apache License, Version 2.0",
            "let total = sum(orders);",
            "total = sum(orders)",
            "console.log(order)",
            "if (x) {\n  run();\n}",
            "def run(self):",
            "self.count += 1",
            "import os.path",
            "<div class=\"a\"> b </div>",
        ] {
            assert_eq!(meaningful_text(&comment(false, text)), None, "{text}");
        }
    }
}
