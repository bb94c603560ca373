//! `repo:NAME` in the search box, which chooses the repository like the list below the box. Only the pages know this word: other
//! callers name the repository by an argument of its own.

use engine::search::slashed_query;

/// The word without its value.
const WORD: &str = "repo:";

/// Takes the first such word out of a query; returns the rest of the query and the name. `None` if there is none outside of quotes
/// and patterns.
pub(super) fn take_repository(query: &str) -> Option<(String, String)> {
    let begins_word = |at: &usize| {
        let before = &query[..*at];
        before.chars().next_back().is_none_or(char::is_whitespace)
            && before.matches('"').count().is_multiple_of(2)
    };
    let start = query.match_indices(WORD).map(|(at, _)| at).find(begins_word)?;
    let (before, value) = (query[..start].trim_end(), &query[start + WORD.len()..]);
    let (name, after) = match value.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?,
        None => value.split_at(value.find(char::is_whitespace).unwrap_or(value.len())),
    };
    if name.is_empty() || slashed_query(query).is_some() {
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
        ] {
            assert_eq!(take_repository(query), Some((rest.to_owned(), name.to_owned())), "{query}");
        }
        for query in
            ["", "repo:", "repo: shop", "-repo:shop", "myrepo:x", "\"a repo:b c\"", "repo:\"x", "/a repo:b/"]
        {
            assert_eq!(take_repository(query), None, "{query}");
        }
    }
}
