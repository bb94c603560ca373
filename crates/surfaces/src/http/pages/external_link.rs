//! Links to other sites.

use maud::{Markup, html};

/// Renders a web address as a link; any other text unchanged.
#[must_use]
pub fn external_link(text: &str) -> Markup {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    let is_web = matches!(scheme.as_deref(), Some("http" | "https"))
        && !text.contains(|char: char| char.is_whitespace() || char.is_control());
    html! {
        @if is_web {
            a.external href=(text) rel="noopener noreferrer nofollow" { bdi { (text) } }
        } @else {
            bdi { (text) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_web_become_links() {
        for address in ["https://example.com/a?b=c", "HTTP://example.com"] {
            let html = external_link(address).into_string();
            assert!(
                html.contains("rel=\"noopener noreferrer nofollow\"") && html.contains("href="),
                "{html}"
            );
        }
        for text in [
            "javascript:alert(1)//https://x", "javascript://%0aalert(1)", "//example.com", "https://a b",
            "file:///x",
        ] {
            assert!(!external_link(text).into_string().contains("href"), "{text}");
        }
        assert!(!external_link("https://a/\"><script>").into_string().contains("<script>"));
    }
}
