//! What the shown hits have in common, each with a link that narrows the query to it.

use maud::{Markup, html};

use super::results::Hit;
use crate::surfaces::code_pieces::language_of;

/// Values of a facet that are shown.
const VALUES_MAX: usize = 6;

/// A property of hits, with how often each value occurs among those that are shown.
struct Facet {
    label: &'static str,
    /// The filter field of the query language.
    field: &'static str,
    values: Vec<(String, usize)>,
}

/// Links that narrow the query; `url` is the address of a query. Nothing where all hits are alike.
pub(super) fn facets(hits: &[Hit], query: &str, url: impl Fn(&str) -> String) -> Markup {
    let all = [
        facet("language", "lang", hits.iter().filter_map(|hit| language_of(&hit.file))),
        facet("kind", "type", hits.iter().map(|hit| hit.kind.as_str())),
        facet("folder", "path", hits.iter().filter_map(|hit| Some(hit.file.split_once('/')?.0))),
    ];
    html! {
        @for facet in all.iter().filter(|facet| facet.values.len() > 1) {
            p.facet {
                span.dim { (facet.label) ": " }
                @for (value, count) in facet.values.iter().take(VALUES_MAX) {
                    a href=(url(&narrowed(query, facet.field, value))) { (value) } span.dim { " " (count) " " }
                }
            }
        }
    }
}

fn facet<'a>(label: &'static str, field: &'static str, found: impl Iterator<Item = &'a str>) -> Facet {
    let mut values: Vec<(String, usize)> = Vec::new();
    for value in found {
        match values.iter_mut().find(|(known, _)| known == value) {
            Some((_, count)) => *count += 1,
            None => values.push((value.to_owned(), 1)),
        }
    }
    // A stable sort: among equals, the value of the better hit comes first.
    values.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Facet { label, field, values }
}

/// The query with one more filter.
fn narrowed(query: &str, field: &str, value: &str) -> String {
    let is_plain = value.chars().all(|char| char.is_alphanumeric() || matches!(char, '-' | '_' | '.'));
    let quote = if is_plain { "" } else { "\"" };
    let below = if field == "path" { "/**" } else { "" };
    format!("{query} {field}:{quote}{}{below}{quote}", value.replace('"', ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_narrowed_by_one_filter() {
        assert_eq!(narrowed("a b", "lang", "rust"), "a b lang:rust");
        assert_eq!(narrowed("a", "path", "src"), "a path:src/**");
        assert_eq!(narrowed("a", "path", "my docs"), "a path:\"my docs/**\"");
        assert_eq!(narrowed("a", "type", "enum \"x\""), "a type:\"enum x\"");
    }

    #[test]
    fn values_are_counted_and_the_most_frequent_comes_first() {
        let found = facet("kind", "type", ["a", "b", "b", "c"].into_iter());
        assert_eq!(found.values, [("b".to_owned(), 2), ("a".to_owned(), 1), ("c".to_owned(), 1)]);
    }
}
