//! Which comments say something: a remark of two words does, a line of dashes, code that was switched off and a licence do
//! not.

use std::borrow::Cow;

use languages::facts::Comment;

/// Letters and words that say something; a script that writes without spaces says it in one word.
const LETTERS_MIN: usize = 6;
const WORDS_MIN: usize = 2;
/// Marks in a row that draw a line.
const RULE_CHARS_MIN: usize = 4;
const RULE_MARKS: &[char] =
    &['-', '=', '*', '#', '~', '_', '+', '/', '<', '>', '\u{2500}', '\u{2550}', '\u{2014}'];
/// Words that code declares something with.
const DECLARING_WORDS: &[&str] = &[
    "let",
    "const",
    "var",
    "val",
    "static",
    "final",
    "auto",
    "local",
    "my",
    "pub",
    "public",
    "private",
    "protected",
    "export",
];
/// Licences stand at the top of files and say nothing about them.
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

/// What a comment says, without lines that only divide and code that was switched off; none where it says nothing.
pub(super) fn said(comment: &Comment) -> Option<Cow<'_, str>> {
    // Documentation shows how something is used; elsewhere code in a comment is switched off.
    let drops = |line: &&str| is_divider(line) || (!comment.doc && is_code_line(line.trim()));
    let said: Cow<'_, str> = if comment.text.lines().any(|line| drops(&line)) {
        let kept: Vec<&str> = comment.text.lines().filter(|line| !drops(line)).collect();
        Cow::Owned(kept.join("\n").trim().to_owned())
    } else {
        Cow::Borrowed(comment.text.as_str())
    };
    let says = tells(&said) && !is_licence(&said) && (comment.doc || !is_code(&comment.text));
    says.then_some(said)
}

fn tells(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic());
    let (mut count, mut spaceless) = (0_usize, 0_usize);
    for c in letters {
        count += 1;
        spaceless += usize::from(is_spaceless(c));
    }
    let words = text.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).take(WORDS_MIN);
    (count >= LETTERS_MIN && words.count() >= WORDS_MIN) || spaceless >= WORDS_MIN
}

/// Chinese, Japanese and Thai letters.
fn is_spaceless(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0eff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{2ffff}')
}

/// A line that divides sections, with or without a title in it: `---- helpers ----`.
fn is_divider(line: &str) -> bool {
    let mut run = 0_usize;
    let mut before = None;
    for c in line.chars() {
        run = if RULE_MARKS.contains(&c) && (run == 0 || before == Some(c)) {
            run + 1
        } else {
            usize::from(RULE_MARKS.contains(&c))
        };
        if run >= RULE_CHARS_MIN {
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

/// Whether most of the lines are code: what else stands among them belongs to it.
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
    // Statements, blocks and calls end so; sentences do not.
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
    fn what_says_something_is_kept() {
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
            assert!(said(&comment(false, text)).is_some(), "{text}");
        }
        let titled = comment(false, "==== helpers ====\nThey are used twice.");
        assert_eq!(said(&titled).as_deref(), Some("They are used twice."));
        let beside = comment(false, "names the host\nlet old = encode(mail);");
        assert_eq!(said(&beside).as_deref(), Some("names the host"), "behind code, with code below it");
        assert!(said(&comment(true, "let x = open();")).is_some(), "documentation shows code");
    }

    #[test]
    fn lines_licences_and_code_say_nothing() {
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
            assert_eq!(said(&comment(false, text)), None, "{text}");
        }
    }
}
