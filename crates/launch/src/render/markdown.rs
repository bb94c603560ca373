//! Escapes text for Markdown, so that it has no meaning beyond its characters.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Characters that Markdown, HTML and templates give a meaning within a line.
const SPECIAL: &[char] = &['\\', '*', '_', '[', ']', '<', '>', '#', '|', '~', '{', '}', '&', '$', '^', '!'];
/// Characters that are not escaped in the segment of a link: the unreserved characters of RFC 3986.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Shortest fence.
const FENCE_MIN: usize = 3;

/// Escapes a text on one line, so that it shows exactly these characters. Code between backticks stays code.
#[must_use]
pub fn escaped(text: &str) -> String {
    let is_balanced = text.matches('`').count().is_multiple_of(2);
    let mut in_code = false;
    let mut written = String::with_capacity(text.len());
    for char in text.split_whitespace().collect::<Vec<_>>().join(" ").chars() {
        if char == '`' && is_balanced {
            in_code = !in_code;
        } else if !in_code && (SPECIAL.contains(&char) || char == '`') {
            written.push('\\');
        }
        written.push(char);
    }
    written
}

/// A code block, with a fence that the code does not contain, and a line break at its end.
#[must_use]
pub fn fenced(language: &str, code: &str) -> String {
    let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(FENCE_MIN.max(longest + 1));
    format!("{fence}{language}\n{}\n{fence}\n", code.trim_end_matches('\n'))
}

/// The link from one page to another, both by their paths in the site.
#[must_use]
pub fn relative_link(from: &str, to: &str) -> String {
    let folder: Vec<&str> = from.rsplit_once('/').map_or("", |(folder, _)| folder).split('/').collect();
    let target: Vec<&str> = to.split('/').collect();
    let folder: Vec<&str> = folder.into_iter().filter(|part| !part.is_empty()).collect();
    let same = folder.iter().zip(&target).take_while(|(one, other)| one == other).count();
    // The file itself is not a folder to descend from.
    let same = same.min(target.len().saturating_sub(1));
    let up = "../".repeat(folder.len() - same);
    let down: Vec<String> =
        target.iter().skip(same).map(|part| utf8_percent_encode(part, UNRESERVED).to_string()).collect();
    format!("{up}{}", down.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::statement;
    use crate::site::Page;

    #[test]
    fn escaped_text_says_the_same_and_means_nothing() {
        for text in [
            "Reads *.csv and _x_ files.",
            "A [link](x) and <b>bold</b> & more.",
            "Calls `a_b[0]` with {{ x }}.",
            "An odd ` backtick.",
            "! a # b | c ~ d ^ e $ f",
        ] {
            let line = escaped(text);
            assert_eq!(statement(&line), text.replace("  ", " "), "{line}");
            let page = Page::parse("a.md", format!("- {line}\n"), 100);
            assert!(
                page.links.is_empty() && page.comments.is_empty() && page.active_html.is_empty(),
                "{line}"
            );
            assert!(!page.masked.contains("{{") && page.html_ids.is_empty(), "{line}");
        }
    }

    #[test]
    fn a_fence_is_longer_than_what_it_encloses() {
        let block = fenced("md", "```\nx\n````\n");
        let page = Page::parse("a.md", format!("{block}\nAfter.\n"), 100);
        assert_eq!((page.code_blocks.len(), page.code_blocks[0].code.as_str()), (1, "```\nx\n````\n"));
        assert!(page.code_blocks[0].is_closed);
    }

    #[test]
    fn links_lead_from_page_to_page() {
        for (from, to, expected) in [
            ("content/docs/a.md", "content/docs/b.md", "b.md"),
            ("content/docs/a.md", "content/kb/x/b.md", "../kb/x/b.md"),
            ("a.md", "content/b c.md", "content/b%20c.md"),
            ("content/docs/a.md", "b.md", "../../b.md"),
        ] {
            assert_eq!(relative_link(from, to), expected, "{from} {to}");
        }
    }
}
