//! `repo:NAME` in the search box, which chooses the repository like the list below the box. Only the pages support this word:
//! other callers name the repository by an argument of its own.

use engine::search::fields::field_name;
use engine::search::query::SearchQuery;
use engine::search::slashed_query;

/// The word without its value.
const WORD: &str = "repo:";

/// Takes the first such word out of a query; returns the rest of the query and the name. `None` if the query has no such word outside of
/// quotes and patterns, or if it is a pasted text, which has no syntax. `repo::open` is a qualified name, and `repo://x` an address.
pub(super) fn take_repository(query: &str) -> Option<(String, String)> {
    let begins_word = |at: &usize| {
        let before = &query[..*at];
        before.chars().next_back().is_none_or(char::is_whitespace)
            && before.matches('"').count().is_multiple_of(2)
            && !query[*at + WORD.len()..].starts_with([':', '/'])
    };
    let start = query.match_indices(WORD).map(|(at, _)| at).find(begins_word)?;
    let (before, value) = (query[..start].trim_end(), &query[start + WORD.len()..]);
    let (name, after) = match value.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?,
        None => value.split_at(value.find(char::is_whitespace).unwrap_or(value.len())),
    };
    let is_pasted = || SearchQuery::parse(query, &field_name).is_pasted;
    if name.is_empty() || slashed_query(query).is_some() || is_pasted() {
        return None;
    }
    Some((format!("{before} {}", after.trim_start()).trim().to_owned(), name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_is_taken_out_of_the_query() {
        for (query, rest, name) in [
            ("repo:shop", "", "shop"),
            ("coins repo:shop", "coins", "shop"),
            ("coins  repo:shop  lang:go", "coins lang:go", "shop"),
            ("repo:\"my shop\" coins", "coins", "my shop"),
            ("\"a b\" repo:shop repo:other", "\"a b\" repo:other", "shop"),
            ("/TODO/ repo:shop", "/TODO/", "shop"),
            ("repo::open repo:shop", "repo::open", "shop"),
        ] {
            assert_eq!(take_repository(query), Some((rest.to_owned(), name.to_owned())), "{query}");
        }
        let pasted = format!("{}repo:shop", "word ".repeat(32));
        for query in [
            "", "repo:", "repo: shop", "-repo:shop", "myrepo:x", "\"a repo:b c\"", "repo:\"x", "/a repo:b/",
            "repo::open", "repo://x", "see repo:/x", &pasted,
        ] {
            assert_eq!(take_repository(query), None, "{query}");
        }
        let typed = format!("{}repo:shop", "word ".repeat(31));
        assert!(take_repository(&typed).is_some());
    }
}
