//! Takes away links that lead nowhere.

use super::{FixInput, Repair, by_patch, marks, replace_line};

/// Leaves the text of the links of a line that says something; removes a line that is only a link.
pub(super) fn fix(input: &FixInput<'_>) -> Option<Repair> {
    let (page, number, line) = input.line()?;
    let is_heading = page.headings.iter().any(|heading| heading.line == number);
    if marks(page, number).is_empty() && !is_heading {
        return Some(by_patch(replace_line(page, number, None), "the line with the link was taken away"));
    }
    let written = without_links(line);
    (written != line).then(|| {
        by_patch(replace_line(page, number, Some(&written)), "the text of the link stays without it")
    })
}

/// A line with the texts of its links instead of the links.
fn without_links(line: &str) -> String {
    static LINK: std::sync::LazyLock<regex::Regex> =
        std::sync::LazyLock::new(|| crate::pattern::pattern(r"(\\?)\[((?:[^\[\]\\]|\\.)*)\]\([^()\s]*\)"));
    let unlinked = |found: &regex::Captures<'_>| {
        let part = |at: usize| found.get(at).map_or("", |part| part.as_str());
        // A bracket behind a backslash begins no link.
        if part(1).is_empty() { part(2).to_owned() } else { part(0).to_owned() }
    };
    LINK.replace_all(line, unlinked).into_owned()
}

#[cfg(test)]
mod tests {
    use super::without_links;

    #[test]
    fn the_text_of_a_link_stays() {
        assert_eq!(
            without_links("See [the \\[x\\] page](a.md#b) and [y](z)."),
            "See the \\[x\\] page and y."
        );
        assert_eq!(without_links("No \\[link\\](a.md) here."), "No \\[link\\](a.md) here.");
    }
}
