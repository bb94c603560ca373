//! A question's text to a question, and what of it was probably meant otherwise: words that look like filters.

use super::fields::{self, FIELDS};
use super::question::{LikeField, Question};
use contract::{Warning, echo};

/// Words that are told of in one answer.
const TOLD_MAX: usize = 5;
/// Shorter names are near to everything.
const NAME_BYTES_MIN: usize = 3;
/// Longer ones are near to none.
const NAME_BYTES_MAX: usize = 32;

/// What is meant by a name that other code searches use.
enum Meant {
    /// This field.
    Field(&'static str),
    /// Definitions of a kind, which stands in the name.
    Kind(&'static str),
    /// Something that is no field: how to ask for it.
    Otherwise(&'static str),
}

use Meant::{Field, Kind, Otherwise};

/// The names of GitHub, Sourcegraph, Zoekt, OpenGrok, Elasticsearch and editors.
const ELSEWHERE: &[(&[&str], Meant)] = &[
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
    (&["implements", "inherits", "subclass", "superclass", "base"], Field("extends")),
    (&["access", "modifier", "scope"], Field("visibility")),
    (&["committer", "owner", "blame"], Field("author")),
    (&["after", "since", "date", "modified"], Field("modifiedAfter")),
    (&["rev", "revision"], Field("branch")),
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
        Otherwise(
            "Which repository is searched says the argument `repoPath` (`--repo` on the command line).",
        ),
    ),
    (
        &["project", "project_id", "workspace"],
        Otherwise(
            "Which project is searched says the argument `project_id` (`--project` on the command line).",
        ),
    ),
    (
        &["symbol", "sym", "s", "name", "defs", "definition"],
        Otherwise(
            "A definition is found by its name alone, without a field; `type:function` demands its kind.",
        ),
    ),
    (
        &["content", "text", "phrase", "body", "full", "match"],
        Otherwise("Text that must stand there is put in quotes: \"a phrase\"."),
    ),
    (&["regex", "regexp", "re"], Otherwise("Only paths are matched by expressions: `path:/_test\\.go$/`.")),
    (&["case"], Otherwise("Upper and lower case are told apart by the argument `case`.")),
    (&["limit", "count", "max"], Otherwise("How many hits are shown says the argument `top`.")),
];

/// What stands in front of the colon of addresses and modules.
const SCHEMES: &[&str] = &[
    "node",
    "npm",
    "jsr",
    "bun",
    "deno",
    "data",
    "blob",
    "mailto",
    "urn",
    "tel",
    "ssh",
    "git",
    "docker",
    "arn",
    "jdbc",
    "std",
    "http",
    "https",
    "file",
    "about",
    "javascript",
    "localhost",
    "host",
];

/// Reads a question, and says what of it was read otherwise than it may have been meant.
pub(super) fn understood(text: &str, warnings: &mut Vec<Warning>) -> Question {
    let parsed = Question::parse(text, &|word| fields::field(word).map(|field| field.name));
    if let Some(why) = parsed.malformed {
        let message = format!("The question was read as plain words: {why}");
        warnings.push(Warning::new("query_malformed", message));
    }
    warnings.extend(parsed.like_fields.iter().filter_map(misread).take(TOLD_MAX));
    parsed.question
}

/// What is said of a word that looks like a field; none where it is an ordinary word.
fn misread(like: &LikeField) -> Option<Warning> {
    let (word, name, value) = (echo(&like.word), like.name.as_str(), echo(&like.value));
    let has_value = !like.value.is_empty();
    let (why, field) = if let Some(field) = fields::field(name).filter(|_| !has_value) {
        (format!("`{}` needs a value right behind the colon. {}", field.name, field.help), Some(field.name))
    } else if name == "chunk" {
        ("`chunk:` takes the id of a hit, a number.".to_owned(), None)
    } else if let Some(meant) = elsewhere(name).filter(|meant| has_value || !matches!(meant, Kind(_))) {
        let missing = format!("There is no field `{name}`.");
        match meant {
            Field(field) => (format!("{missing} Did you mean `{field}:{value}`?"), Some(*field)),
            Kind(kind) => (format!("{missing} Did you mean `type:{kind} {value}`?"), Some("type")),
            Otherwise(how) => (format!("{missing} {how}"), None),
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
    let message = format!("`{word}` was taken as words. {why}");
    Some(Warning { details, ..Warning::new("field_taken_as_words", message) })
}

fn elsewhere(name: &str) -> Option<&'static Meant> {
    let name = name.to_lowercase();
    ELSEWHERE.iter().find(|(names, _)| names.contains(&name.as_str())).map(|(_, meant)| meant)
}

/// The field whose name or flag is spelt most like this: one slip of the pen, or two in a longer name.
fn nearest(name: &str) -> Option<&'static str> {
    if !(NAME_BYTES_MIN..=NAME_BYTES_MAX).contains(&name.len()) {
        return None;
    }
    let plain = |name: &str| name.to_lowercase().replace(['-', '_'], "");
    let name = plain(name);
    let slips = if name.len() > 4 { 2 } else { 1 };
    let spelt = FIELDS.iter().flat_map(|field| [(field.name, field.name), (field.flag, field.name)]);
    let near = spelt.map(|(spelt, field)| (strsim::damerau_levenshtein(&name, &plain(spelt)), field));
    near.filter(|(distance, _)| *distance <= slips)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, field)| field)
}

/// Whether it can only be meant as a field: a plain word in front, and behind it neither a port nor a line.
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

    fn told(text: &str) -> Vec<String> {
        let mut warnings = Vec::new();
        understood(text, &mut warnings);
        warnings.into_iter().map(|warning| warning.message).collect()
    }

    #[test]
    fn the_field_that_was_meant_is_named() {
        for (text, meant) in [
            ("typ:function", "`type:function`"),
            ("language:go middleware", "`lang:go`"),
            ("visibilty:public", "`visibility:public`"),
            ("func:open", "`type:function open`"),
            ("repo:gin", "`repoPath`"),
            ("branch-min:3", "`branchesMin:3`"),
            ("kind:", "`type:`"),
            ("lang:", "right behind the colon"),
            ("chunk:abc", "id of a hit"),
            ("wobble:yes", "no field `wobble`"),
        ] {
            let told = told(text);
            assert!(told.len() == 1 && told[0].contains(meant), "{text}: {told:?}");
        }
        assert_eq!(told(&"typ:function ".repeat(20)).len(), TOLD_MAX);
    }

    #[test]
    fn ordinary_words_are_left_alone() {
        for text in [
            "std::vec",
            "error: cannot",
            "class: x",
            "Foo:bar",
            "localhost:8080",
            "node:fs",
            "main.go:12",
            "TODO:",
            "a ? b : c",
        ] {
            assert_eq!(told(text), [] as [&str; 0], "{text}");
        }
    }

    #[test]
    fn every_field_that_is_named_exists() {
        for (names, meant) in ELSEWHERE {
            assert!(names.iter().all(|name| fields::field(name).is_none()), "{names:?}");
            if let Field(field) = meant {
                assert_eq!(fields::field(field).map(|known| known.name), Some(*field));
            }
        }
    }
}
