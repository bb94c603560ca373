//! Prints a query in its normal form, which parses to the same query.

use std::fmt;

use super::ast::{FilterClause, SearchQuery};
use super::lex::{balanced, is_open_regex, negates};

impl fmt::Display for SearchQuery {
    /// Prints plain words, then the chunk, then the filters.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if !self.text.is_empty() {
            parts.push(self.text.clone());
        }
        parts.extend(self.similar_to.map(|chunk| format!("chunk:{chunk}")));
        if let Some(clause) = &self.filter {
            let clauses = clauses(clause, parts.is_empty());
            parts.push(clauses);
        }
        f.write_str(&parts.join(" "))
    }
}

impl SearchQuery {
    /// Returns the filtering clauses (phrases, exclusions, fields) in normal form; `None` if there are none.
    #[must_use]
    pub fn filter_text(&self) -> Option<String> {
        self.filter.as_ref().map(|clause| clauses(clause, true))
    }
}

/// Prints a field with a value, as a query has it.
#[must_use]
pub fn filter(name: &'static str, value: &str) -> String {
    operand(&FilterClause::Field { name, value: value.to_owned() })
}

/// Prints a filter as clauses of a query, in which a word without an operator would rank. `is_first` if no part
/// precedes them.
fn clauses(clause: &FilterClause, is_first: bool) -> String {
    let expression = match clause {
        FilterClause::All(members) if members.iter().any(is_word) => joined(members, " AND "),
        FilterClause::All(members) => return joined(members, " "),
        FilterClause::Any(members) => joined(members, " OR "),
        FilterClause::Word(_) => return format!("NOT NOT {}", operand(clause)),
        clause => return operand(clause),
    };
    if is_first { expression } else { format!("({expression})") }
}

/// Prints a clause as an operand.
fn operand(clause: &FilterClause) -> String {
    match clause {
        FilterClause::All(members) => format!("({})", joined(members, " ")),
        FilterClause::Any(members) => format!("({})", joined(members, " OR ")),
        FilterClause::Not(clause) => {
            let (short, long) = (format!("-{}", operand(clause)), format!("NOT {}", operand(clause)));
            if negates(&short) { short } else { long }
        }
        FilterClause::Word(word) => word.clone(),
        FilterClause::Phrase(words) => quoted(words),
        FilterClause::Field { name, value } if needs_quotes(value) || is_open_regex(name, value) => {
            format!("{name}:{}", quoted(value))
        }
        FilterClause::Field { name, value } => format!("{name}:{value}"),
    }
}

fn joined(members: &[FilterClause], by: &str) -> String {
    members.iter().map(operand).collect::<Vec<_>>().join(by)
}

fn is_word(clause: &FilterClause) -> bool {
    matches!(clause, FilterClause::Word(_))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""))
}

/// Returns whether a value would be parsed differently without quotes.
fn needs_quotes(value: &str) -> bool {
    value.contains(char::is_whitespace)
        || value.starts_with([':', '"'])
        || value.starts_with("//")
        || !balanced(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    fn fields(name: &str) -> Option<&'static str> {
        ["lang", "type", "path", "content"].into_iter().find(|field| field.eq_ignore_ascii_case(name))
    }

    fn read(text: &str) -> SearchQuery {
        SearchQuery::parse(text, &fields).query
    }

    #[test]
    fn the_normal_form_is_short() {
        for (text, printed) in [
            ("\"a b\"  cache   -test", "cache \"a b\" -test"),
            ("x LANG:\"rust\" path:\"a b\"", "x lang:rust path:\"a b\""),
            ("a AND b OR c", "(a b) OR c"),
            ("foo a OR b", "foo (a OR b)"),
            ("foo a AND (b OR c)", "foo (a AND (b OR c))"),
            ("NOT a NOT (b c) NOT -->", "-a -(b c) NOT -->"),
            ("NOT NOT a b", "b NOT NOT a"),
            ("chunk:007 -lang:go b", "b chunk:7 -lang:go"),
            (r#""say \"x\"""#, r#""say \"x\"""#),
            (
                "content:/a/i content:\"/usr\" content:/b c/",
                "content:/a/i content:\"/usr\" content:\"/b c/\"",
            ),
            ("a OR f( path:\"//x\"", "(a OR \"f(\") path:\"//x\""),
        ] {
            assert_eq!(read(text).to_string(), printed, "{text}");
        }
    }

    /// Pieces of the language in any combination, mostly malformed.
    fn tokens() -> impl Strategy<Value = String> {
        const TOKENS: &[&str] = &[
            "a", "b", "AND", "OR", "NOT", "(", ")", "()", "-", "!", "--", "->", "\"", "\"a b\"", "\"\"",
            "\"\\\"\"", "\\", "lang:", "lang:c", "Type:\"d e\"", "path:f(", "path:\"", "path:)",
            "content:/a", "content:/b (c/", "content:/d)/i", "content:\"/e f/\"", "/", "\\/", "x:y",
            "path::p", "chunk:1", "f(x)", "g(", "(h", "i)", "-j", "!(k", "\"l\"m", ":", "\u{a0}", "ß",
        ];
        let token_and_gap = (select(TOKENS), select(&["", " ", " ", " "][..]));
        vec(token_and_gap, 0..45)
            .prop_map(|parts| parts.into_iter().flat_map(|(token, gap)| [token, gap]).collect())
    }

    /// Well-formed queries, however deep.
    fn expressions() -> impl Strategy<Value = String> {
        let leaf = select(
            &[
                "a", "->", "\"b c\"", "lang:d", "path:\"e f\"", "g(", "()", "-h", "content:/i (j|k)/",
                "content:/l/i",
            ][..],
        );
        leaf.prop_map(str::to_owned).prop_recursive(40, 120, 3, |inner| {
            let several = vec(inner.clone(), 1..4);
            prop_oneof![
                several.clone().prop_map(|members| members.join(" AND ")),
                several.clone().prop_map(|members| members.join(" OR ")),
                several.prop_map(|members| format!("({})", members.join(" "))),
                inner.clone().prop_map(|negated| format!("-({negated})")),
                inner.prop_map(|negated| format!("NOT {negated}")),
            ]
        })
    }

    fn round_trips(text: &str) -> Result<(), TestCaseError> {
        let once = read(text);
        let printed = once.to_string();
        let again = SearchQuery::parse(&printed, &fields);
        prop_assert_eq!(&again.query, &once, "printed as {}", printed);
        prop_assert_eq!(again.malformed, None, "printed as {}", printed);
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]

        #[test]
        fn any_text_round_trips(text in "\\PC{0,200}") {
            round_trips(&text)?;
        }

        #[test]
        fn syntax_characters_round_trip(text in "[aAND:\\\\\"()!\\- \n]{0,60}") {
            round_trips(&text)?;
        }

        #[test]
        fn tokens_round_trip(text in tokens()) {
            round_trips(&text)?;
        }

        #[test]
        fn expressions_round_trip(text in expressions()) {
            round_trips(&text)?;
        }
    }
}
