//! Parses a query, and warns of words in it that look like filters but are not filters.

use crate::search::filters::fields::{self, FIELDS};
use crate::search::filters::pattern::slashed_regex;
use crate::search::query::{LikeField, SearchQuery};
use contract::{Warning, echo};
use languages::nfc;

/// Maximum number of such warnings in one answer.
const WARNINGS_MAX: usize = 5;
/// Shortest name for which a similar field is suggested, in bytes; shorter names are similar to too many fields.
const NAME_BYTES_MIN: usize = 3;
/// Longest name for which a similar field is suggested, in bytes.
const NAME_BYTES_MAX: usize = 32;

/// The equivalent of a field of another search engine.
enum Intended {
    /// The field with this name.
    Field(&'static str),
    /// The filter for definitions of this kind.
    Kind(&'static str),
    /// An alternative to a field, described by the sentence.
    Advice(&'static str),
}

use Intended::{Advice, Field, Kind};

/// Field names of GitHub, Sourcegraph, Zoekt, OpenGrok, Elasticsearch and editors, with their equivalents.
const FOREIGN_FIELDS: &[(&[&str], Intended)] = &[
    (&["language", "languages", "lng", "l", "filetype"], Field("lang")),
    (&["filename", "basename", "f"], Field("file")),
    (&["extension", "extensions", "suffix"], Field("ext")),
    (&["filepath", "dir", "directory", "folder", "glob", "in", "p"], Field("path")),
    (&["kind", "symbolkind", "is"], Field("type")),
    (&["call", "callee", "callees", "caller", "callers", "invokes"], Field("calls")),
    (&["ref", "refs", "reference", "references", "usage", "usages"], Field("uses")),
    (&["module", "requires", "includes", "include", "dependency"], Field("import")),
    (&["annotation", "attribute", "annotations"], Field("decorator")),
    (&["parameter", "arg", "argument", "args"], Field("param")),
    (&["return", "rettype"], Field("returnType")),
    (&["raises", "raise", "throw", "exception"], Field("throws")),
    (&["inherits", "subclass", "superclass", "base"], Field("extends")),
    (&["access", "modifier", "scope"], Field("visibility")),
    (&["committer", "owner", "blame"], Field("author")),
    (&["after", "since", "date", "modified"], Field("modifiedAfter")),
    (&["revision", "tag", "ref"], Field("rev")),
    (&["vuln", "vulnerability", "danger", "security", "cwe"], Field("risk")),
    (&["sink"], Field("riskSink")),
    (&["function", "func", "fn", "def"], Kind("function")),
    (&["method"], Kind("method")),
    (&["class"], Kind("class")),
    (&["struct"], Kind("struct")),
    (&["interface"], Kind("interface")),
    (&["trait"], Kind("trait")),
    (&["enum"], Kind("enum")),
    (
        &["repo", "repos", "repository", "r", "org"],
        Advice("Choose the repository with the argument `repoPath` (`--repo` on the command line)."),
    ),
    (
        &["project", "project_id", "workspace"],
        Advice("Choose the project with the argument `project_id` (`--project` on the command line)."),
    ),
    (
        &["symbol", "sym", "s", "name", "defs", "definition"],
        Advice("Search for a definition by its name alone; `type:function` filters by kind."),
    ),
    (
        &["text", "phrase", "body", "full", "match"],
        Advice("Put text that must occur in quotes: \"a phrase\"; `content:` takes it with its white space."),
    ),
    (&["regex", "regexp", "re"], Advice("Put a regular expression between slashes: `content:/get_\\w+/`.")),
    (&["case"], Advice("For a case-sensitive search set the argument `case`.")),
    (&["limit", "count", "max"], Advice("Set the number of hits with the argument `top`.")),
];

/// Prefixes of addresses and module names.
const SCHEMES: &[&str] = &[
    "node", "npm", "jsr", "bun", "deno", "data", "blob", "mailto", "urn", "tel", "ssh", "git", "docker",
    "arn", "jdbc", "std", "http", "https", "file", "about", "javascript", "localhost", "host",
];

/// Parses a query. Warns if it is malformed or contains words that look like filters.
pub(in crate::search) fn parse_query(text: &str, warnings: &mut Vec<Warning>) -> SearchQuery {
    let parsed = SearchQuery::parse(&nfc(text), &fields::field_name);
    if let Some(reason) = parsed.malformed {
        let message = format!("The query is malformed and was searched as plain words: {reason}");
        warnings.push(Warning::new("query_malformed", message));
    }
    warnings.extend(parsed.like_fields.iter().filter_map(field_hint).take(WARNINGS_MAX));
    warnings.extend(parsed.query.text.split_whitespace().find_map(regex_hint));
    parsed.query
}

/// Returns the warning for a word that looks like a field; `None` for an ordinary word.
fn field_hint(like: &LikeField) -> Option<Warning> {
    let (word, name, value) = (echo(&like.word), like.name.as_str(), echo(&like.value));
    let has_value = !like.value.is_empty();
    let (reason, field) = if let Some(field) = fields::field(name).filter(|_| !has_value) {
        (format!("`{}` needs a value right after the colon. {}", field.name, field.help), Some(field.name))
    } else if name == "chunk" {
        ("`chunk:` takes the id of a hit, a number.".to_owned(), None)
    } else if let Some(meant) = foreign_field(name).filter(|meant| has_value || !matches!(meant, Kind(_))) {
        let missing = format!("There is no field `{name}`.");
        match meant {
            Field(field) => (format!("{missing} Did you mean `{field}:{value}`?"), Some(*field)),
            Kind(kind) => (format!("{missing} Did you mean `type:{kind} {value}`?"), Some("type")),
            Advice(how) => (format!("{missing} {how}"), None),
        }
    } else if !has_value {
        return None;
    } else if let Some(field) = nearest(name) {
        (format!("There is no field `{name}`. Did you mean `{field}:{value}`?"), Some(field))
    } else if is_field_like(name, &like.value) {
        let known = FIELDS.iter().take(5).map(|field| field.name).collect::<Vec<_>>().join(", ");
        (format!("There is no field `{name}`; there are {known} and the other filters of `search`."), None)
    } else {
        return None;
    };
    let details = Some(serde_json::json!({ "word": word, "field": field }));
    let message = format!("`{word}` was searched as plain words. {reason}");
    Some(Warning { details, ..Warning::new("field_taken_as_words", message) })
}

/// Returns the warning for a word that looks like a regular expression between slashes.
fn regex_hint(word: &str) -> Option<Warning> {
    let (regex, _) = slashed_regex(word)?;
    let is_regex = regex.contains(['\\', '(', '[', '{', '*', '+', '?', '^', '$', '|']);
    is_regex.then(|| {
        let word = echo(word);
        let message = format!(
            "`{word}` was searched as plain words. A regular expression filters as `content:{word}`; alone, or with the argument `regex`, it is searched by lines."
        );
        let details = Some(serde_json::json!({ "word": word, "field": "content" }));
        Warning { details, ..Warning::new("field_taken_as_words", message) }
    })
}

fn foreign_field(name: &str) -> Option<&'static Intended> {
    let name = name.to_lowercase();
    FOREIGN_FIELDS.iter().find(|(names, _)| names.contains(&name.as_str())).map(|(_, meant)| meant)
}

/// Returns the field with the most similar name or flag: at most one typing error, or two in a longer name.
fn nearest(name: &str) -> Option<&'static str> {
    if !(NAME_BYTES_MIN..=NAME_BYTES_MAX).contains(&name.len()) {
        return None;
    }
    let plain = |name: &str| name.to_lowercase().replace(['-', '_'], "");
    let name = plain(name);
    let errors_max = if name.len() > 4 { 2 } else { 1 };
    let names = FIELDS.iter().flat_map(|field| [(field.name, field.name), (field.cli_flag, field.name)]);
    let distances = names.map(|(known, field)| (strsim::damerau_levenshtein(&name, &plain(known)), field));
    distances
        .filter(|(distance, _)| *distance <= errors_max)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, field)| field)
}

/// Returns whether `name:value` is probably meant as a field: a lower-case word that is followed by neither a port nor
/// a line number.
fn is_field_like(name: &str, value: &str) -> bool {
    name.len() > 1
        && name.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '_' | '-'))
        && !SCHEMES.contains(&name)
        && value.starts_with(|c: char| c.is_alphanumeric() || c == '"')
        && !value.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warnings(text: &str) -> Vec<String> {
        let mut warnings = Vec::new();
        parse_query(text, &mut warnings);
        warnings.into_iter().map(|warning| warning.message).collect()
    }

    #[test]
    fn the_intended_field_is_named() {
        for (text, meant) in [
            ("typ:function", "`type:function`"),
            ("language:go middleware", "`lang:go`"),
            ("visibilty:public", "`visibility:public`"),
            ("func:open", "`type:function open`"),
            ("repo:gin", "`repoPath`"),
            ("branch-min:3", "`branchesMin:3`"),
            ("kind:", "`type:`"),
            ("lang:", "right after the colon"),
            ("chunk:abc", "id of a hit"),
            ("wobble:yes", "no field `wobble`"),
            ("regex:a.b", "`content:/get_"),
            ("open /get_\\w+/", "`content:/get_\\w+/`"),
        ] {
            let warnings = warnings(text);
            assert!(warnings.len() == 1 && warnings[0].contains(meant), "{text}: {warnings:?}");
        }
        assert_eq!(warnings(&"typ:function ".repeat(20)).len(), WARNINGS_MAX);
    }

    #[test]
    fn ordinary_words_cause_no_warning() {
        for text in [
            "std::vec", "error: cannot", "class: x", "Foo:bar", "localhost:8080", "node:fs", "main.go:12",
            "TODO:", "a ? b : c",
        ] {
            assert_eq!(warnings(text), [] as [&str; 0], "{text}");
        }
    }

    #[test]
    fn every_suggested_field_exists() {
        for (names, meant) in FOREIGN_FIELDS {
            assert!(names.iter().all(|name| fields::field(name).is_none()), "{names:?}");
            if let Field(field) = meant {
                assert_eq!(fields::field(field).map(|known| known.name), Some(*field));
            }
        }
    }
}
