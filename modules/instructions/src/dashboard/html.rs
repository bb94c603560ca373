//! Writes HTML. Only the program's own markup, which must be known at compile time, is written unescaped. Everything else is escaped.

use std::fmt::Display;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// A page under construction.
#[derive(Debug, Default)]
pub(super) struct Page(String);

impl Page {
    /// Adds markup.
    pub(super) fn markup(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Adds text, for an element or for an attribute in double quotes.
    pub(super) fn text(&mut self, text: impl Display) -> &mut Self {
        for char in text.to_string().chars() {
            match char {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                // HTML cannot represent it.
                '\0' => self.0.push('\u{fffd}'),
                char => self.0.push(char),
            }
        }
        self
    }

    /// Adds a link to this page with these parameters; those without a value are omitted.
    pub(super) fn link(
        &mut self,
        parameters: &[(&'static str, Option<&str>)],
        text: impl Display,
    ) -> &mut Self {
        let given = parameters.iter().filter_map(|(name, value)| Some((name, (*value)?)));
        let pairs: Vec<String> = given
            .map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)))
            .collect();
        let target = if pairs.is_empty() { "/".to_owned() } else { format!("/?{}", pairs.join("&")) };
        self.markup("<a href=\"").text(target).markup("\">").text(text).markup("</a>")
    }

    /// Returns the HTML.
    pub(super) fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_people_wrote_is_escaped() {
        let mut page = Page::default();
        page.markup("<p title=\"")
            .text("\" onclick='x'")
            .markup("\">")
            .text("<script>a && b</script>\0")
            .markup("</p>");
        assert_eq!(
            page.finish(),
            "<p title=\"&quot; onclick=&#39;x&#39;\">&lt;script&gt;a &amp;&amp; b&lt;/script&gt;\u{fffd}</p>"
        );
    }

    #[test]
    fn links_name_what_they_are_given() {
        let link = |parameters: &[(&'static str, Option<&str>)]| {
            let mut page = Page::default();
            page.link(parameters, "<x>");
            page.finish()
        };
        assert_eq!(link(&[("project", None)]), "<a href=\"/\">&lt;x&gt;</a>");
        assert_eq!(
            link(&[("project", Some("a-b")), ("category", Some("\"&javascript:x"))]),
            "<a href=\"/?project=a%2Db&amp;category=%22%26javascript%3Ax\">&lt;x&gt;</a>"
        );
    }
}
