//! Converts filter values (kinds, dates, languages, extensions, names, signatures) from the forms that people write to
//! the stored form.

use jiff::{Timestamp, civil, tz::TimeZone};

use crate::search::filters::fields::FilterField;
use crate::search::filters::request_filter::invalid_value;
use contract::{ErrorCode, Fault, echo};

/// Kinds of chunks, each with its synonyms.
const KINDS: &[(&str, &[&str])] = &[
    ("function", &["func", "fn", "def", "functiondeclaration", "arrowfunction"]),
    ("method", &["methoddeclaration", "constructor", "methoddefinition"]),
    ("class", &["classdeclaration"]),
    ("struct", &["structdeclaration", "record", "union"]),
    ("interface", &["interfacedeclaration", "protocol"]),
    ("trait", &["traitdeclaration", "mixin"]),
    ("enum", &["enumdeclaration"]),
    ("impl", &["impldeclaration", "implementation", "extension"]),
    ("module", &["moduledeclaration", "namespace", "package"]),
    ("type", &["typedeclaration", "typealias", "alias"]),
    ("variable", &["variabledeclaration", "constant", "const", "field", "property"]),
    ("section", &["heading"]),
    ("block", &["other"]),
];

/// Converts names of people to lower case, without mail address and `@`: `Ada Lovelace <ada@example.org>`, `@ada`.
pub(in crate::search) fn people(names: &[String]) -> Vec<String> {
    let bare = |name: &String| {
        let name = name.split(" <").next().unwrap_or(name).trim().trim_start_matches('@').to_lowercase();
        Some(name).filter(|name| !name.is_empty())
    };
    names.iter().map(|name| bare(name).unwrap_or_else(|| name.to_lowercase())).collect()
}

/// Converts part of a signature to the stored form: with folded whitespace, without the brace that opens the body.
pub(in crate::search) fn on_one_line(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for c in text.chars() {
        if !c.is_whitespace() {
            folded.push(c);
        } else if !folded.ends_with(' ') {
            folded.push(' ');
        }
    }
    let head = folded.trim_end().trim_end_matches('{').trim_end();
    if head.is_empty() || head.len() == folded.trim_end().len() { folded } else { head.to_owned() }
}

/// Returns whether the pattern is a path with directories rather than a file name or a regular expression.
pub(in crate::search) fn is_path(pattern: &str) -> bool {
    let pattern = pattern.trim();
    let is_regex = pattern.starts_with('/') && (pattern.ends_with('/') || pattern.ends_with("/i"));
    pattern.contains(['/', '\\']) && !is_regex
}

/// Maximum number of typing errors with which a kind is proposed.
const TYPING_ERRORS_MAX: usize = 2;

pub(in crate::search) fn known_kind(field: &FilterField, word: &str) -> Result<&'static str, Fault> {
    let word = word.trim_matches(['"', '\'', '`']).to_lowercase();
    let find = |word: &str| KINDS.iter().find(|(kind, others)| *kind == word || others.contains(&word));
    // `functions`, `classes`, `properties`
    let singular = |end: &str, instead: &str| find(&format!("{}{instead}", word.strip_suffix(end)?));
    let found = find(&word)
        .or_else(|| singular("s", ""))
        .or_else(|| singular("es", ""))
        .or_else(|| singular("ies", "y"));
    found.map(|(kind, _)| *kind).ok_or_else(|| {
        let kinds = KINDS.iter().map(|(kind, _)| *kind).collect::<Vec<_>>().join(", ");
        let fault = invalid_value(field, &format!("has no value `{}`; use one of: {kinds}", echo(&word)));
        let distances = KINDS.iter().map(|(kind, _)| (strsim::damerau_levenshtein(&word, kind), kind));
        match distances.min().filter(|(errors, _)| *errors <= TYPING_ERRORS_MAX) {
            Some((_, nearest)) => fault.with_hint(format!("Did you mean `{nearest}`?")),
            None => fault,
        }
    })
}

/// Parses a date or timestamp to seconds since the epoch; in UTC unless it has a zone.
pub(in crate::search) fn parse_date(field: &FilterField, text: &str) -> Result<i64, Fault> {
    let in_utc = |moment: civil::DateTime| moment.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    let found = text
        .parse::<Timestamp>()
        .ok()
        // A date without a time is its midnight.
        .or_else(|| text.parse::<civil::DateTime>().ok().and_then(in_utc));
    found
        .map(Timestamp::as_second)
        .ok_or_else(|| invalid_value(field, &format!("takes a date or a timestamp, not `{text}`")))
}

pub(in crate::search) fn language(name: &str) -> Result<String, Fault> {
    if let Some(language) = languages::by_name(name) {
        return Ok(language.id.to_owned());
    }
    let nearest = languages::nearest(name);
    let hint = if nearest.is_empty() {
        "Filter by extension (`ext`) instead, for example `rs`.".to_owned()
    } else {
        format!(
            "Did you mean {}?",
            nearest.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ")
        )
    };
    Err(Fault::new(ErrorCode::InvalidRequest, format!("Unknown language `{name}`."))
        .with_details(serde_json::json!({ "field": "lang", "value": name, "nearest": nearest }))
        .with_hint(hint))
}

/// Parses extensions, also several in one text: `rs, toml`.
pub(in crate::search) fn extensions(values: &[String]) -> Result<Vec<String>, Fault> {
    let parts = values.iter().flat_map(|value| value.split(','));
    parts.filter(|part| !part.trim().is_empty()).map(extension).collect()
}

/// Normalises an extension: `*.RS`, `.rs` and `rs` all become `rs`.
fn extension(given: &str) -> Result<String, Fault> {
    let bare = given.trim().trim_start_matches('*').trim_start_matches('.').to_lowercase();
    if bare.is_empty() || bare.contains(['/', '*', ' ']) {
        return Err(Fault::new(ErrorCode::InvalidRequest, format!("`{given}` is not a file extension."))
            .with_hint("Give extensions like `rs` or `.rs`; for patterns use `path`."));
    }
    Ok(bare)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::filters::fields;

    #[test]
    fn synonyms_of_kinds_are_accepted() {
        let field = fields::field("type").unwrap();
        for (word, kind) in [
            ("Function", "function"),
            ("ClassDeclaration", "class"),
            ("namespace", "module"),
            ("methods", "method"),
            ("classes", "class"),
            ("properties", "variable"),
        ] {
            assert_eq!(known_kind(field, word).unwrap(), kind);
        }
        assert_eq!(known_kind(field, "thing").unwrap_err().code, ErrorCode::InvalidRequest);
        assert_eq!(known_kind(field, "functon").unwrap_err().hint.unwrap(), "Did you mean `function`?");
    }

    #[test]
    fn common_forms_of_dates_are_parsed() {
        let field = fields::field("modifiedAfter").unwrap();
        for text in ["1970-01-02", "1970-01-02T00:00:00Z", "1970-01-02T00:00:00", "1970-01-02T02:00:00+02:00"]
        {
            assert_eq!(parse_date(field, text).unwrap(), 86_400, "{text}");
        }
        assert!(parse_date(field, "yesterday").is_err());
    }

    #[test]
    fn languages_and_extensions_are_normalised_or_refused() {
        assert_eq!(language("golang").unwrap(), "go");
        assert!(language("rusd").unwrap_err().hint.unwrap().contains("rust"));
        assert_eq!(extension("*.RS").unwrap(), "rs");
        assert!(extension("a/b").is_err());
    }

    #[test]
    fn signatures_and_people_are_converted_to_the_stored_form() {
        assert_eq!(on_one_line("fn  open(\n  path: &Path) {"), "fn open( path: &Path)");
        assert_eq!((on_one_line("{").as_str(), on_one_line(" open").as_str()), ("{", " open"));
        assert_eq!(
            people(&["Ada Lovelace <ada@x.org>".into(), "@Ada".into(), "@".into()]),
            ["ada lovelace", "ada", "@"]
        );
        assert!(is_path("src/a.rs") && is_path("src\\a.rs") && !is_path("/a.*b/") && !is_path("a.rs"));
    }
}
