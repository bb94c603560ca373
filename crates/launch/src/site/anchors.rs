//! Anchors of headings, as GitHub, Hugo and mdBook generate them.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use regex::Regex;

use super::page::Heading;
use crate::pattern::pattern;

/// The program that generates the anchors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AnchorStyle {
    /// Unknown: an anchor that any of the others makes counts.
    #[default]
    Any,
    /// GitHub, and those that imitate it.
    GitHub,
    /// Hugo with its default settings.
    Hugo,
    /// mdBook.
    MdBook,
}

/// The styles that can be distinguished.
const STYLES: [AnchorStyle; 3] = [AnchorStyle::GitHub, AnchorStyle::Hugo, AnchorStyle::MdBook];

/// Configuration files by which Hugo is recognised.
const HUGO_FILES: &[&str] = &[
    "hugo.toml", "hugo.yaml", "hugo.yml", "hugo.json", "config/_default/hugo.toml",
    "config/_default/config.toml",
];

impl AnchorStyle {
    /// The style of a site with these files.
    pub(super) fn of_site(files: &BTreeSet<String>) -> Self {
        if files.contains("book.toml") {
            Self::MdBook
        } else if HUGO_FILES.iter().any(|file| files.contains(*file)) {
            Self::Hugo
        } else {
            Self::Any
        }
    }
}

/// Characters that GitHub removes.
static REMOVED: LazyLock<Regex> = LazyLock::new(|| pattern(r"[^\w\- ]"));

/// The anchor of a heading's text before repetitions are numbered.
fn slug(text: &str, style: AnchorStyle) -> String {
    let text = text.trim();
    match style {
        AnchorStyle::Any | AnchorStyle::GitHub => {
            REMOVED.replace_all(&text.to_lowercase(), "").replace(' ', "-")
        }
        AnchorStyle::Hugo => {
            let kept = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_') || c.is_whitespace();
            let chars = text.chars().filter(|c| kept(*c)).map(|c| if c.is_whitespace() { '-' } else { c });
            chars.collect::<String>().to_lowercase()
        }
        AnchorStyle::MdBook => {
            let kept = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_') || c.is_whitespace();
            let chars = text.chars().filter(|c| kept(*c));
            chars.map(|c| if c.is_whitespace() { '-' } else { c.to_ascii_lowercase() }).collect()
        }
    }
}

/// Returns all anchors of a page's headings. Of several equal ones the first keeps its name, the next get `-1`, `-2` …
pub(super) fn anchors(headings: &[Heading], style: AnchorStyle) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let styles: &[AnchorStyle] = if style == AnchorStyle::Any { &STYLES } else { &[style] };
    for style in styles {
        let mut numbers: HashMap<String, u32> = HashMap::new();
        for heading in headings {
            // Renderers without this syntax derive an anchor from the text.
            all.extend(heading.id.clone());
            let slug = slug(&heading.text, *style);
            let anchor = match numbers.get(&slug).copied() {
                None => slug,
                Some(mut number) => {
                    let anchor = loop {
                        number += 1;
                        let anchor = format!("{slug}-{number}");
                        if !numbers.contains_key(&anchor) {
                            break anchor;
                        }
                    };
                    numbers.insert(slug, number);
                    anchor
                }
            };
            numbers.insert(anchor.clone(), 0);
            all.insert(anchor);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heading(text: &str) -> Heading {
        Heading { level: 2, text: text.to_owned(), line: 1, id: None }
    }

    #[test]
    fn slugs_are_those_of_each_renderer() {
        for (text, github, hugo, book) in [
            ("A call", "a-call", "a-call", "a-call"),
            (
                "Where Postgres comes from", "where-postgres-comes-from", "where-postgres-comes-from",
                "where-postgres-comes-from",
            ),
            ("C++ & C#: `a_b`!", "c--c-a_b", "c--c-a_b", "c--c-a_b"),
            ("Über uns", "über-uns", "über-uns", "Über-uns"),
            ("a\tb", "ab", "a-b", "a-b"),
        ] {
            // Backticks are markup, which is not part of a heading's text.
            let text = text.replace('`', "");
            assert_eq!(slug(&text, AnchorStyle::GitHub), github, "{text}");
            assert_eq!(slug(&text, AnchorStyle::Hugo), hugo, "{text}");
            if text.is_ascii() {
                assert_eq!(slug(&text, AnchorStyle::MdBook), book, "{text}");
            }
        }
        assert_eq!(slug("ÜBER A", AnchorStyle::MdBook), "Über-a", "only ASCII letters are lowered");
    }

    #[test]
    fn repeated_headings_are_numbered() {
        let headings = ["Install", "Install", "Install-1", "Install"].map(heading);
        let anchors = anchors(&headings, AnchorStyle::GitHub);
        let all: Vec<&str> = anchors.iter().map(String::as_str).collect();
        assert_eq!(all, ["install", "install-1", "install-1-1", "install-2"]);
    }

    #[test]
    fn an_explicit_id_is_an_anchor_too() {
        let named = Heading { id: Some("setup".to_owned()), ..heading("Install") };
        assert!(anchors(&[named], AnchorStyle::Hugo).contains("setup"));
    }

    #[test]
    fn the_style_is_recognised_by_the_configuration() {
        let style = |file: &str| AnchorStyle::of_site(&BTreeSet::from([file.to_owned()]));
        assert_eq!(style("book.toml"), AnchorStyle::MdBook);
        assert_eq!(style("hugo.yaml"), AnchorStyle::Hugo);
        assert_eq!(style("index.md"), AnchorStyle::Any);
    }
}
