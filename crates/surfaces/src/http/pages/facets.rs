//! Properties in which the hits of a query differ, with links that narrow the query to one of their values.

use engine::search::fields::field_name;
use engine::search::query::SearchQuery;
use engine::search::{Facet, FacetProperty, Facets, slashed_query};
use maud::{Markup, html};

/// A search with an additional condition.
pub(super) struct Narrowed {
    pub(super) query: String,
    pub(super) mode: String,
    /// The repository, if that is the condition.
    pub(super) repository: Option<String>,
}

/// Renders links that narrow a search, given by its query and mode; `url` returns the address of the narrowed one. Values that no
/// filter can express are shown without a link.
pub(super) fn facets(
    found: &Facets,
    (query, mode): (&str, &str),
    url: impl Fn(Narrowed) -> String,
) -> Markup {
    let is_pattern = is_pattern_mode(mode);
    let can_narrow = |facet: &&Facet| {
        is_pattern || filter_field(facet.property).is_none_or(|field| !has_filter(query, field))
    };
    let at_least = if found.is_least { ", at least" } else { "" };
    html! {
        @for facet in found.facets.iter().filter(can_narrow) {
            p.facet {
                span.dim { (facet.property.as_str()) (at_least) ": " }
                @for value in &facet.values {
                    @match narrowed((query, mode), facet.property, &value.value) {
                        Some(narrowed) => a href=(url(narrowed)) { bdi { (value.value) } },
                        None => bdi { (value.value) },
                    }
                    span.dim { " " (value.hits) " " }
                }
                @if facet.others > 0 { span.dim { "and " (facet.others) " more" } }
            }
        }
    }
}

/// Checks whether the whole query is a text or a regular expression to find in lines.
pub(super) fn is_pattern_mode(mode: &str) -> bool {
    matches!(mode, "exact" | "regex")
}

/// Returns the filter that selects a value of a property; repositories are chosen by a parameter.
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

/// Checks whether a query has the filter already. With two, both would have to match, and a regular expression accepts each
/// filter only once.
fn has_filter(query: &str, filter: &str) -> bool {
    let words = query.split_whitespace().map(|word| word.trim_start_matches(['-', '!', '(']));
    let mut names = words.filter_map(|word| field_name(word.split_once(':')?.0));
    names.any(|name| name == filter)
}

/// Checks whether a filter can express a value: quotes and backslashes would need more than quotes, and neither a comma between
/// alternatives nor the characters of a glob can be escaped.
fn is_expressible(property: FacetProperty, value: &str) -> bool {
    let special = match property {
        FacetProperty::Folder => "*?[]{}",
        FacetProperty::Language | FacetProperty::Kind | FacetProperty::Author => ",",
        FacetProperty::Repository | FacetProperty::Risk => "",
    };
    value.trim() == value && !value.contains(|char: char| "\"\\".contains(char) || special.contains(char))
}

/// Returns the search with the condition added; `None` if no filter can express it, or the query is a text that takes no filters.
fn narrowed((query, mode): (&str, &str), property: FacetProperty, value: &str) -> Option<Narrowed> {
    let Some(field) = filter_field(property) else {
        let (query, mode) = (query.to_owned(), mode.to_owned());
        return Some(Narrowed { query, mode, repository: Some(value.to_owned()) });
    };
    if !is_expressible(property, value) {
        return None;
    }
    let is_plain = value.chars().all(|char| char.is_alphanumeric() || matches!(char, '-' | '_' | '.'));
    let quote = if is_plain { "" } else { "\"" };
    let below = if field == "path" { "/**" } else { "" };
    let filter = format!("{field}:{quote}{value}{below}{quote}");
    // A pattern accepts filters only if it is enclosed in slashes.
    let is_pattern = is_pattern_mode(mode) || slashed_query(query).is_some();
    let (unfiltered, mode) = match mode {
        "regex" => (between_slashes(query), ""),
        "exact" => (between_slashes(&regex::escape(query)), ""),
        _ => (query.to_owned(), mode),
    };
    let filtered = format!("{unfiltered} {filter}");
    let takes_filter = match is_pattern {
        true => slashed_query(&filtered).is_some(),
        false => [query, &filtered].iter().all(|text| SearchQuery::parse(text, &field_name).has_syntax()),
    };
    takes_filter.then(|| Narrowed { query: filtered, mode: mode.to_owned(), repository: None })
}

/// Formats a regular expression as a query: `/expression/`.
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
    use engine::search::FacetValue;

    #[test]
    fn a_query_is_narrowed_by_one_filter() {
        let query = |query, property, value| narrowed((query, "prose"), property, value).unwrap().query;
        assert_eq!(query("a b", FacetProperty::Language, "rust"), "a b lang:rust");
        assert_eq!(query("a", FacetProperty::Folder, "src"), "a path:src/**");
        assert_eq!(query("a", FacetProperty::Folder, "my docs"), "a path:\"my docs/**\"");
        assert_eq!(query("a", FacetProperty::Author, "Ada B"), "a author:\"Ada B\"");
        let chosen = narrowed(("a", "prose"), FacetProperty::Repository, "shop").unwrap();
        assert_eq!((chosen.query.as_str(), chosen.mode.as_str()), ("a", "prose"));
        assert_eq!(chosen.repository.as_deref(), Some("shop"));
    }

    #[test]
    fn values_without_a_filter_have_no_link() {
        use FacetProperty::{Author, Folder, Language, Repository};
        let is_offered =
            |query: &str, mode, property, value| narrowed((query, mode), property, value).is_some();
        for (property, value) in
            [(Author, "Ada \"x\" B"), (Author, "B, Ada"), (Folder, "[a]"), (Folder, "a*b"), (Folder, "a\\b")]
        {
            assert!(!is_offered("a", "", property, value), "{value}");
        }
        assert!(is_offered("a", "", Folder, "a, b") && is_offered("a", "", Author, "Ada [bot]"));
        // A filter in such a text would be ordinary words.
        let (pasted, longest) = ("word ".repeat(33), "word ".repeat(32));
        for query in ["a \"b", "(a", "a OR", &pasted, &longest] {
            assert!(!is_offered(query, "", Language, "go"), "{query}");
            assert!(!is_offered(query, "", Author, "Ada B"), "{query}");
            assert!(is_offered(query, "", Repository, "shop") && is_offered(query, "exact", Language, "go"));
        }
        assert!(is_offered("/a b/ type:class", "", Language, "go"));
    }

    #[test]
    fn a_filter_is_known_by_each_of_its_names() {
        for (query, name) in
            [("a Lang:go", "lang"), ("-(risk-tag:sql", "riskTag"), ("RISKTAG:sql", "riskTag")]
        {
            assert!(has_filter(query, name), "{query}");
        }
        assert!(!has_filter("a lang author", "lang") && !has_filter("chunkAuthor:a", "author"));
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
            let narrowed = narrowed((query, mode), FacetProperty::Language, "rust").unwrap();
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
        assert!(html.contains("language, at least: ") && html.contains("><bdi>rust</bdi></a>"), "{html}");
        assert!(html.contains(" 7 ") && html.contains("and 3 more") && !html.contains(">class<"), "{html}");
        let html = facets(&found, ("a \"b", ""), |narrowed| narrowed.query).into_string();
        assert!(html.contains("<bdi>rust</bdi>") && !html.contains("<a "), "{html}");
    }
}
