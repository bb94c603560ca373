//! Properties in which the hits of a query differ, with links that narrow it to those that have a value.

use engine::search::{Facet, FacetProperty, Facets};
use maud::{Markup, html};

/// A search with one condition more.
pub(super) struct Narrowed {
    pub(super) query: String,
    pub(super) mode: String,
    /// The repository, if that is the condition.
    pub(super) repository: Option<String>,
}

/// Links that narrow a search, given by its query and mode; `url` is the address of the narrowed one.
pub(super) fn facets(
    found: &Facets,
    (query, mode): (&str, &str),
    url: impl Fn(Narrowed) -> String,
) -> Markup {
    let is_pattern = matches!(mode, "exact" | "regex");
    let can_narrow = |facet: &&Facet| {
        is_pattern || filter_field(facet.property).is_none_or(|field| !has_filter(query, field))
    };
    let at_least = if found.is_least { ", at least" } else { "" };
    html! {
        @for facet in found.facets.iter().filter(can_narrow) {
            p.facet {
                span.dim { (facet.property.as_str()) (at_least) ": " }
                @for value in &facet.values {
                    a href=(url(narrowed((query, mode), facet.property, &value.value))) { (value.value) }
                    span.dim { " " (value.hits) " " }
                }
                @if facet.others > 0 { span.dim { "and " (facet.others) " more" } }
            }
        }
    }
}

/// The filter that passes what has a value of a property; repositories are chosen by a parameter.
fn filter_field(property: FacetProperty) -> Option<&'static str> {
    match property {
        FacetProperty::Repository => None,
        FacetProperty::Language => Some("lang"),
        FacetProperty::Kind => Some("type"),
        FacetProperty::Folder => Some("path"),
        FacetProperty::Risk => Some("riskTag"),
        FacetProperty::Author => Some("author"),
    }
}

/// Whether a query has the filter already. Two would both have to hold, and a regular expression takes each filter once.
fn has_filter(query: &str, field: &str) -> bool {
    let words = query.split_whitespace().map(|word| word.trim_start_matches(['-', '!', '(']));
    words.filter_map(|word| word.split_once(':')).any(|(name, _)| name == field)
}

fn narrowed((query, mode): (&str, &str), property: FacetProperty, value: &str) -> Narrowed {
    let Some(field) = filter_field(property) else {
        let (query, mode) = (query.to_owned(), mode.to_owned());
        return Narrowed { query, mode, repository: Some(value.to_owned()) };
    };
    let is_plain = value.chars().all(|char| char.is_alphanumeric() || matches!(char, '-' | '_' | '.'));
    let quote = if is_plain { "" } else { "\"" };
    let below = if field == "path" { "/**" } else { "" };
    let filter = format!("{field}:{quote}{}{below}{quote}", value.replace('"', ""));
    // Only between slashes does a pattern take filters beside it.
    let (query, mode) = match mode {
        "regex" => (between_slashes(query), ""),
        "exact" => (between_slashes(&regex::escape(query)), ""),
        _ => (query.to_owned(), mode),
    };
    Narrowed { query: format!("{query} {filter}"), mode: mode.to_owned(), repository: None }
}

/// A regular expression as a query: `/expression/`.
fn between_slashes(pattern: &str) -> String {
    let (mut query, mut is_escaped) = ("/".to_owned(), false);
    for char in pattern.chars() {
        if char == '/' && !is_escaped {
            query.push('\\');
        }
        is_escaped = char == '\\' && !is_escaped;
        query.push(char);
    }
    query + "/"
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::search::{FacetValue, slashed_query};

    #[test]
    fn a_query_is_narrowed_by_one_filter() {
        let query = |query, property, value| narrowed((query, "prose"), property, value).query;
        assert_eq!(query("a b", FacetProperty::Language, "rust"), "a b lang:rust");
        assert_eq!(query("a", FacetProperty::Folder, "src"), "a path:src/**");
        assert_eq!(query("a", FacetProperty::Folder, "my docs"), "a path:\"my docs/**\"");
        assert_eq!(query("a", FacetProperty::Author, "Ada \"x\" B"), "a author:\"Ada x B\"");
        let chosen = narrowed(("a", "prose"), FacetProperty::Repository, "shop");
        assert_eq!((chosen.query.as_str(), chosen.mode.as_str()), ("a", "prose"));
        assert_eq!(chosen.repository.as_deref(), Some("shop"));
    }

    #[test]
    fn a_pattern_is_narrowed_between_slashes() {
        for (query, mode, regex) in [
            ("TODO|FIXME", "regex", "TODO|FIXME"),
            ("a/b\\\\/c d", "regex", "a/b\\\\/c d"),
            ("\\/x", "regex", "/x"),
            ("f(a) /b", "exact", "f\\(a\\) /b"),
            (" x ", "exact", " x "),
        ] {
            let narrowed = narrowed((query, mode), FacetProperty::Language, "rust");
            let read = slashed_query(&narrowed.query).unwrap_or_else(|| panic!("{}", narrowed.query));
            assert_eq!((read.regex.as_str(), narrowed.mode.as_str()), (regex, ""), "{query}");
            assert_eq!(read.filters, [("lang", "rust".to_owned())]);
        }
    }

    #[test]
    fn numbers_may_be_lower_bounds_and_a_filter_is_not_offered_twice() {
        let value = |value: &str, hits| FacetValue { value: value.to_owned(), hits };
        let facet = |property, values| Facet { property, values, others: 3 };
        let found = Facets {
            is_least: true,
            facets: vec![
                facet(FacetProperty::Language, vec![value("rust", 7), value("go", 2)]),
                facet(FacetProperty::Kind, vec![value("class", 1)]),
            ],
        };
        let html = facets(&found, ("a -type:enum", ""), |narrowed| narrowed.query).into_string();
        assert!(html.contains("language, at least: ") && html.contains(">rust</a>"), "{html}");
        assert!(html.contains(" 7 ") && html.contains("and 3 more") && !html.contains(">class<"), "{html}");
    }
}
