//! Hides the values of other servers in a diff: they may be tokens, and diffs are pasted into bug reports.
//!
//! Keys stay, to show where our text goes. In an unchanged line every value is hidden. An added or removed line may also hold
//! values of others, for example in a file that is a single line: the words that both texts contain are hidden in it.

use std::collections::HashSet;

/// The replacement for a hidden value.
const HIDDEN: &str = "…";

/// Decides which parts of two texts may be shown.
pub(super) struct Mask<'a> {
    /// The words that both texts contain, except ours.
    shared: HashSet<&'a str>,
}

impl<'a> Mask<'a> {
    /// Creates the mask for the diff of two texts. `ours` is the text that we write.
    pub(super) fn new(old: &'a str, new: &'a str, ours: &'a str) -> Self {
        let words =
            |text: &'a str| text.lines().flat_map(words).map(|word| word.text).collect::<HashSet<_>>();
        let (old, new, ours) = (words(old), words(new), words(ours));
        Self { shared: old.intersection(&new).filter(|word| !ours.contains(*word)).copied().collect() }
    }

    /// Masks a line of a unified diff, including its marker.
    pub(super) fn line(&self, line: &str) -> String {
        let Some((mark, text)) = line.split_at_checked(1) else { return line.to_owned() };
        match mark {
            " " => masked(text, mark, &|_| true),
            "+" | "-" => masked(text, mark, &|word| self.shared.contains(word)),
            // `@@ -1 +1 @@` and `\ No newline at end of file`.
            _ => line.to_owned(),
        }
    }
}

fn masked(line: &str, mark: &str, hides: &dyn Fn(&str) -> bool) -> String {
    let mut shown = mark.to_owned();
    let mut end = 0;
    for word in words(line) {
        let between = &line[end..word.start];
        end = word.start + word.text.len();
        if word.is_key || !hides(word.text) {
            shown.push_str(between);
            shown.push_str(word.text);
            continue;
        }
        // Adjacent hidden words become one, so that not even their number shows.
        if !(between.trim().is_empty() && shown.ends_with(HIDDEN)) {
            shown.push_str(between);
            let quote = word.text.chars().next().filter(|char| matches!(char, '"' | '\''));
            let quote = quote.map(String::from).unwrap_or_default();
            shown.push_str(&format!("{quote}{HIDDEN}{quote}"));
        }
    }
    shown.push_str(&line[end..]);
    shown
}

/// A quoted text including its quotes, or a run of characters between white space and brackets.
struct Word<'a> {
    text: &'a str,
    start: usize,
    is_key: bool,
}

/// Splits a line of JSON, TOML, YAML or prose into words.
fn words(line: &str) -> impl Iterator<Item = Word<'_>> {
    let indent = line.len() - line.trim_start().len();
    let mut at = 0;
    std::iter::from_fn(move || {
        at += line[at..].find(|char: char| !is_between(char))?;
        let start = at;
        let first = line[start..].chars().next()?;
        let length = match first {
            ':' => 1,
            '"' | '\'' => quoted_length(&line[start..], first),
            _ => line[start..].find(is_between).unwrap_or(line.len() - start),
        };
        let text = &line[start..start + length];
        // The colon of an unquoted key is the last character of its word.
        let key = text.strip_suffix(':').filter(|key| !key.is_empty() && !matches!(first, '"' | '\''));
        let text = key.unwrap_or(text);
        at = start + text.len();
        Some(Word { text, start, is_key: is_key(&line[indent..start], text, &line[at..]) })
    })
}

/// Checks whether a character separates words.
fn is_between(char: char) -> bool {
    char.is_whitespace() || "{}[],=".contains(char)
}

/// Returns the length of a quoted text, or that of the rest of the line if the closing quote is missing.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, char) in text.char_indices().skip(1) {
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' if quote == '"' => is_escaped = true,
            char if char == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Checks whether a word is the name of a value or of a table. A secret that merely looks like a name is not one, such as base64
/// with its `=`.
fn is_key(before: &str, word: &str, after: &str) -> bool {
    let before = before.trim_end();
    let next = after.trim_start();
    let is_assigned = next
        .strip_prefix('=')
        .map(str::trim_start)
        .is_some_and(|value| !value.is_empty() && !value.starts_with('='));
    if word.starts_with(['"', '\'']) {
        return next.starts_with(':') || (before.is_empty() && is_assigned);
    }
    let is_header = matches!(before, "[" | "[[")
        && matches!(next.trim_end(), "]" | "]]")
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    let is_mark = word.bytes().all(|byte| b"-:".contains(&byte));
    let is_named = after.strip_prefix(':').is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    is_header || is_mark || (before.is_empty() && is_assigned) || (matches!(before, "" | "-") && is_named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_keys_of_an_unchanged_line_are_shown() {
        let table = [
            ("", ""),
            ("  }", "  }"),
            ("    \"env\": { \"TOKEN\": \"s3cret\" },", "    \"env\": { \"TOKEN\": \"…\" },"),
            ("{\"a\":\"s3cret\",\"b\":[\"s3cret\",7]}", "{\"a\":\"…\",\"b\":[\"…\",…]}"),
            ("  \"a\": \"x\\\" s3cret\", // s3cret", "  \"a\": \"…\", …"),
            ("  \"a\": \"s3cret without end", "  \"a\": \"…\""),
            ("[mcp_servers.other.env]", "[mcp_servers.other.env]"),
            ("TOKEN = \"s3cret\"  # s3cret", "TOKEN = \"…\"  …"),
            ("TOKEN = 's3cret'", "TOKEN = '…'"),
            ("\"my key\" = \"s3cret\"", "\"my key\" = \"…\""),
            ("env = { TOKEN = \"s3cret\" }", "env = { … = \"…\" }"),
            ("    TOKEN: s3cret", "    TOKEN: …"),
            ("  - name: s3cret s3cret # s3cret", "  - name: …"),
            ("  - s3cret", "  - …"),
            ("  - s3cret==", "  - …=="),
            ("s3cret==", "…=="),
            ("s3cret=", "…="),
            ("  - s3cret:s3cret", "  - …"),
            ("  url: https://u:s3cret@host/", "  url: …"),
            ("# s3cret", "…"),
            ("Your token is s3cret.", "…"),
            ("ü: s3cret ü", "ü: …"),
        ];
        for (line, shown) in table {
            let mask = Mask::new("", "", "");
            let masked = mask.line(&format!(" {line}"));
            assert_eq!(masked, format!(" {shown}"));
            assert!(!masked.contains("s3cret"), "{masked}");
        }
    }

    #[test]
    fn new_and_our_own_words_of_a_changed_line_are_shown() {
        let old = "{\"a\":{\"command\":\"npx\",\"env\":{\"TOKEN\":\"s3cret\"}}}";
        let new = "{\"a\":{\"command\":\"npx\",\"env\":{\"TOKEN\":\"s3cret\"}},\"b\":{\"command\":\"npx\",\"args\":[\"new\"]}}";
        let ours = "{\"b\":{\"command\":\"npx\",\"args\":[\"new\"]}}";
        let mask = Mask::new(old, new, ours);
        let removed = mask.line(&format!("-{old}"));
        assert_eq!(removed, "-{\"a\":{\"command\":\"npx\",\"env\":{\"TOKEN\":\"…\"}}}");
        let added = mask.line(&format!("+{new}"));
        assert!(added.ends_with("\"args\":[\"new\"]}}") && !added.contains("s3cret"), "{added}");
        assert_eq!(mask.line("@@ -1 +1 @@"), "@@ -1 +1 @@");
        assert_eq!(mask.line("\\ No newline at end of file"), "\\ No newline at end of file");
        assert_eq!(mask.line("-  \"gone\": \"shown\""), "-  \"gone\": \"shown\"");
    }
}
