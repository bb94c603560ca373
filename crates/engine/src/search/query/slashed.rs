//! A query that is a regular expression between slashes, alone or with filters around it: `/TODO|FIXME/ lang:go`.

use super::lex::{Fields, Lexer, Token, slashed_length};
use crate::search::filters::pattern::slashed_regex;

/// A regular expression and where to look for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlashedQuery {
    /// The expression, without the slashes.
    pub regex: String,
    /// `true` if it ends with `/i`.
    pub ignores_case: bool,
    /// Fields with their values, each field once.
    pub filters: Vec<(&'static str, String)>,
}

/// Reads a query as such an expression; `None` if there is anything else in it, or a field twice. `fields` is as in
/// [`super::SearchQuery::parse`].
pub(in crate::search) fn slashed(query: &str, fields: Fields<'_>) -> Option<SlashedQuery> {
    let begins_word = |at: &usize| query[..*at].chars().next_back().is_none_or(char::is_whitespace);
    let start = query.match_indices('/').map(|(at, _)| at).find(begins_word)?;
    let end = start + slashed_length(&query[start..], false)?;
    let mut filters = only_filters(&query[..start], fields)?;
    filters.extend(only_filters(&query[end..], fields)?);
    let is_repeated =
        |(at, (name, _)): (usize, &(&str, String))| filters[..at].iter().any(|(earlier, _)| earlier == name);
    if filters.iter().enumerate().any(is_repeated) {
        return None;
    }
    let (regex, ignores_case) = slashed_regex(&query[start..end])?;
    // Languages that write expressions between slashes escape the slash as `\/`.
    Some(SlashedQuery { regex: regex.replace("\\/", "/"), ignores_case, filters })
}

/// Returns the filters of a text that has nothing else.
fn only_filters(text: &str, fields: Fields<'_>) -> Option<Vec<(&'static str, String)>> {
    let filter = |token: Token| match token {
        Token::Field { name, value } if !value.is_empty() => Some((name, value)),
        _ => None,
    };
    Lexer::new(text, fields).map(|lexeme| filter(lexeme.token)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Option<SlashedQuery> {
        slashed(query, &|name| ["lang", "path"].into_iter().find(|known| *known == name))
    }

    #[test]
    fn an_expression_is_alone_or_beside_filters() {
        let expected = |regex: &str, ignores_case, filters: &[(&'static str, &str)]| SlashedQuery {
            regex: regex.to_owned(),
            ignores_case,
            filters: filters.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(),
        };
        for (query, wanted) in [
            ("/TODO/", expected("TODO", false, &[])),
            (" /a b\\/c/i ", expected("a b/c", true, &[])),
            (
                "/fn \\w+/ lang:rust path:src/",
                expected("fn \\w+", false, &[("lang", "rust"), ("path", "src/")]),
            ),
            (
                "lang:go /TODO|FIXME/i path:\"a b\"",
                expected("TODO|FIXME", true, &[("lang", "go"), ("path", "a b")]),
            ),
            ("/a/ path:/x/", expected("a", false, &[("path", "/x/")])),
        ] {
            assert_eq!(read(query), Some(wanted), "{query}");
        }
        for query in [
            "", "/", "//", "TODO", "/TODO/ other", "how does /api/users/ work", "/a/ -lang:go", "lang:go",
            "a/b/", "/a/ path:x path:/y/", "/a/ b/",
        ] {
            assert_eq!(read(query), None, "{query}");
        }
    }
}
