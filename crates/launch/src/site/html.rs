//! Raw HTML inside of pages: comments, links, anchors and active content.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;

/// A begin tag with its attributes; their values may contain `>` only if they are quoted.
static TAG: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"<([A-Za-z][A-Za-z0-9-]*)((?:[^<>"']|"[^"]*"|'[^']*')*)>"#));
/// An attribute with its value.
static ATTRIBUTE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"([A-Za-z_:][A-Za-z0-9_:.-]*)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>=`]+))"#));
/// Names of attributes that run code: `onclick`.
static HANDLER: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)^on[a-z]{3,}$"));

/// The contents of a piece of raw HTML.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct HtmlParts<'t> {
    /// Texts of comments, with the offsets of the comments.
    pub(super) comments: Vec<(Range<usize>, &'t str)>,
    /// Targets of links and whether they are images, with their offsets.
    pub(super) links: Vec<(usize, &'t str, bool)>,
    /// Values of `id` and `name`.
    pub(super) ids: Vec<&'t str>,
    /// Tags and attributes that could run in a browser, with offsets.
    pub(super) active: Vec<(usize, &'t str)>,
}

/// Reads a piece of raw HTML.
pub(super) fn read(html: &str) -> HtmlParts<'_> {
    let mut parts = HtmlParts::default();
    let mut at = 0;
    while let Some(begin) = html[at..].find("<!--").map(|found| at + found) {
        read_tags(html, at..begin, &mut parts);
        let inner = begin + "<!--".len();
        let end = html[inner..].find("-->").map_or(html.len(), |found| inner + found);
        let after = (end + "-->".len()).min(html.len());
        parts.comments.push((begin..after, &html[inner..end]));
        at = after;
    }
    read_tags(html, at..html.len(), &mut parts);
    parts
}

fn read_tags<'t>(html: &'t str, range: Range<usize>, parts: &mut HtmlParts<'t>) {
    let start = range.start;
    for tag in TAG.captures_iter(&html[range]) {
        let (Some(name), Some(attributes)) = (tag.get(1), tag.get(2)) else { continue };
        let at = start + name.start();
        if ["script", "iframe", "object", "embed"]
            .iter()
            .any(|active| name.as_str().eq_ignore_ascii_case(active))
        {
            parts.active.push((at, name.as_str()));
        }
        let is_image =
            ["img", "video", "audio", "source"].iter().any(|one| name.as_str().eq_ignore_ascii_case(one));
        for attribute in ATTRIBUTE.captures_iter(attributes.as_str()) {
            let value = attribute.get(2).or_else(|| attribute.get(3)).or_else(|| attribute.get(4));
            let (Some(key), Some(value)) = (attribute.get(1), value) else { continue };
            let (key, value) = (key.as_str(), value.as_str());
            match key.to_ascii_lowercase().as_str() {
                "href" | "src" => parts.links.push((at, value, is_image)),
                "id" | "name" => parts.ids.push(value),
                _ if HANDLER.is_match(key) => parts.active.push((at, key)),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_links_and_ids_are_found() {
        let html = "<a id=\"top\" href='x.md#y'>t</a> <!-- claim_id: 1 --><img src=a.png alt=\"a > b\">";
        let parts = read(html);
        let comments: Vec<&str> = parts.comments.iter().map(|(_, text)| text.trim()).collect();
        assert_eq!(comments, ["claim_id: 1"]);
        let links: Vec<_> = parts.links.iter().map(|(_, target, is_image)| (*target, *is_image)).collect();
        assert_eq!(links, [("x.md#y", false), ("a.png", true)]);
        assert_eq!((parts.ids, parts.active), (vec!["top"], vec![]));
    }

    #[test]
    fn tags_in_comments_do_not_count_and_an_open_comment_ends_with_the_text() {
        let parts = read("<!-- <a href=\"gone.md\"> -->");
        assert!(parts.links.is_empty(), "{parts:?}");
        assert_eq!(read("a <!-- b").comments, [(2..8, " b")]);
    }

    #[test]
    fn what_runs_in_a_browser_is_active() {
        let active = |html| read(html).active.into_iter().map(|(_, what)| what).collect::<Vec<_>>();
        assert_eq!(active("<script src=\"x.js\"></script>"), ["script"]);
        assert_eq!(active("<img src=x onerror=alert(1)>"), ["onerror"]);
        assert!(active("<p on=\"x\" class=\"only\">").is_empty());
    }
}
