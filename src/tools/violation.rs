//! What a broken rule of an input schema is called: Ajv's keywords and params, and a sentence for whoever wrote the call.
//!
//! What was sent is shown once and short. Its size must not decide the size of the answer.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::{Value, json};

use super::schema::nearest;
use contract::{Violation, echo, echo_within};

/// Names of fields up to this many characters are repeated in sentences; longer ones are only described there.
const NAME_CHARS_MAX: usize = 64;
/// Allowed values that a violation lists.
const ALLOWED_MAX: usize = 50;
/// Beyond so many unknown fields no nearest one is looked for.
const NEAREST_MAX: usize = 16;

/// The violations that `error` stands for; `fields` are the known names at the root.
pub(super) fn explain(error: &ValidationError<'_>, fields: &[String]) -> Vec<Violation> {
    let path = error.instance_path().to_string();
    let violation = |params: Value, message: String, value: Option<String>| Violation {
        instance_path: echo(&path),
        schema_path: format!("#{}", error.schema_path()),
        keyword: error.kind().keyword().to_owned(),
        params,
        message,
        value,
    };
    match error.kind() {
        Kind::AdditionalProperties { unexpected } => unexpected
            .iter()
            .enumerate()
            .map(|(at, name)| {
                let known = if at < NEAREST_MAX { fields } else { &[] };
                violation(json!({ "additionalProperty": echo(name) }), unknown_field(name, known), None)
            })
            .collect(),
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            vec![violation(json!({ "missingProperty": name }), format!("`{name}` is required."), None)]
        }
        kind => {
            let rule = rule(kind);
            let value = rule.shows_value.then(|| shown(error.instance())).flatten();
            vec![violation(rule.params, format!("{} {}.", place(&path), rule.words), value)]
        }
    }
}

/// Fields whose NUL characters are not refused here: a project's id has an error code of its own, given where it is parsed,
/// and a scanner's report loses them where it is cleaned.
const NUL_ELSEWHERE: [&str; 2] = ["project_id", "payload"];

/// The violation of a text that holds a NUL character, which no database stores; the first of them.
pub(super) fn nul(arguments: &Value) -> Option<Violation> {
    fn holds(value: &Value) -> bool {
        match value {
            Value::String(text) => text.contains('\0'),
            Value::Array(items) => items.iter().any(holds),
            Value::Object(fields) => fields.iter().any(|(name, value)| name.contains('\0') || holds(value)),
            _ => false,
        }
    }
    let fields = arguments.as_object()?;
    let (name, _) =
        fields.iter().find(|(name, value)| !NUL_ELSEWHERE.contains(&name.as_str()) && holds(value))?;
    Some(Violation {
        instance_path: format!("/{name}"),
        schema_path: format!("#/properties/{name}/pattern"),
        keyword: "pattern".to_owned(),
        params: json!({ "pattern": "^[^\\u0000]*$" }),
        message: format!("`{name}` must not hold a NUL character."),
        value: None,
    })
}

/// The name of the field in question.
fn place(path: &str) -> String {
    let name = path.trim_start_matches('/').replace('/', ".");
    match name.as_str() {
        "" => "The arguments".to_owned(),
        name if name.chars().count() > NAME_CHARS_MAX => {
            format!("`{}`", echo_within(name.split('.').next().unwrap_or_default(), NAME_CHARS_MAX))
        }
        name => format!("`{}`", echo(name)),
    }
}

fn unknown_field(name: &str, known: &[String]) -> String {
    let length = name.chars().count();
    if length > NAME_CHARS_MAX {
        return format!("Unknown field with a name of {length} characters.");
    }
    let name = echo(name);
    match nearest(&name, known.iter().map(String::as_str)) {
        Some(near) => format!("Unknown field `{name}`; did you mean `{near}`?"),
        None if known.is_empty() => format!("Unknown field `{name}`."),
        None => format!("Unknown field `{name}`; the fields are: {}.", known.join(", ")),
    }
}

/// What a keyword demands.
struct Rule {
    params: Value,
    /// Follows the field's name.
    words: String,
    /// Whether the wrong value helps.
    shows_value: bool,
}

fn rule(kind: &Kind) -> Rule {
    let rule = |params: Value, words: String, shows_value: bool| Rule { params, words, shows_value };
    let limit = |comparison: &str, limit: &Value, words: &str| {
        rule(json!({ "comparison": comparison, "limit": limit }), format!("must be {words} {limit}"), true)
    };
    match kind {
        Kind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            let listed = &options[..options.len().min(ALLOWED_MAX)];
            let mut words = listed.iter().map(bare).collect::<Vec<_>>().join(", ");
            if options.len() > listed.len() {
                words.push_str(&format!(" … ({} values)", options.len()));
            }
            rule(json!({ "allowedValues": listed }), format!("must be one of: {words}"), true)
        }
        Kind::Constant { expected_value } => rule(
            json!({ "allowedValue": expected_value.as_ref() }),
            format!("must be {}", bare(expected_value)),
            true,
        ),
        Kind::Type { kind } => {
            let types: Vec<String> = match kind {
                TypeKind::Single(one) => vec![one.to_string()],
                TypeKind::Multiple(several) => several.iter().map(|one| one.to_string()).collect(),
            };
            let params = match types.as_slice() {
                [one] => json!({ "type": one }),
                several => json!({ "type": several }),
            };
            rule(
                params,
                format!("must be {}", types.iter().map(|t| article(t)).collect::<Vec<_>>().join(" or ")),
                true,
            )
        }
        Kind::Minimum { limit: least } => limit(">=", least, "at least"),
        Kind::Maximum { limit: most } => limit("<=", most, "at most"),
        Kind::ExclusiveMinimum { limit: bound } => limit(">", bound, "more than"),
        Kind::ExclusiveMaximum { limit: bound } => limit("<", bound, "less than"),
        Kind::MinLength { limit } => counted(*limit, "at least", "character"),
        Kind::MaxLength { limit } => counted(*limit, "at most", "character"),
        Kind::MinItems { limit } => counted(*limit, "at least", "element"),
        Kind::MaxItems { limit } => counted(*limit, "at most", "element"),
        Kind::MinProperties { limit } => counted(*limit, "at least", "field"),
        Kind::MaxProperties { limit } => counted(*limit, "at most", "field"),
        Kind::Pattern { pattern } => {
            rule(json!({ "pattern": pattern }), format!("must match the pattern {pattern}"), true)
        }
        Kind::Format { format } => {
            rule(json!({ "format": format }), format!("must be a valid {format}"), true)
        }
        Kind::MultipleOf { multiple_of } => {
            rule(json!({ "multipleOf": multiple_of }), format!("must be a multiple of {multiple_of}"), true)
        }
        Kind::UniqueItems => rule(json!({}), "must not have an element twice".to_owned(), false),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => alternatives(context),
        Kind::PropertyNames { error } => {
            let inner = self::rule(error.kind());
            rule(inner.params, format!("has a field whose name {}", inner.words), false)
        }
        other => rule(json!({}), format!("breaks the rule `{}` of its schema", other.keyword()), false),
    }
}

/// Each alternative of a choice by the first rule that failed there.
fn alternatives(context: &[Vec<ValidationError<'static>>]) -> Rule {
    let mut words: Vec<String> = Vec::new();
    let mut params = Vec::new();
    for failed in context.iter().filter_map(|failed| failed.first()) {
        let rule = rule(failed.kind());
        if !words.contains(&rule.words) {
            words.push(rule.words);
            params.push(json!({ "keyword": failed.kind().keyword(), "params": rule.params }));
        }
    }
    let words = match words.is_empty() {
        true => "is of none of the allowed forms".to_owned(),
        false => words.join(", or "),
    };
    Rule { params: json!({ "alternatives": params }), words, shows_value: true }
}

fn counted(limit: u64, comparison: &str, what: &str) -> Rule {
    let plural = if limit == 1 { "" } else { "s" };
    Rule {
        params: json!({ "limit": limit }),
        words: format!("must have {comparison} {limit} {what}{plural}"),
        shows_value: false,
    }
}

fn article(name: &str) -> String {
    match name {
        "integer" | "array" | "object" => format!("an {name}"),
        "null" => name.to_owned(),
        _ => format!("a {name}"),
    }
}

/// A value of a schema, without quotes where it is a text.
fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A wrong value as it may be shown: texts cut, structures only described.
fn shown(value: &Value) -> Option<String> {
    Some(match value {
        Value::String(text) => format!("\"{}\"", echo(text)),
        Value::Array(items) => format!("an array of {} elements", items.len()),
        Value::Object(fields) => format!("an object of {} fields", fields.len()),
        Value::Null => return None,
        scalar => scalar.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(schema: Value, value: Value) -> Vec<Violation> {
        let schema =
            json!({ "type": "object", "properties": { "x": schema }, "additionalProperties": false });
        let validator = jsonschema::validator_for(&schema).unwrap();
        let arguments = json!({ "x": value });
        validator.iter_errors(&arguments).flat_map(|error| explain(&error, &["x".to_owned()])).collect()
    }

    #[test]
    fn each_keyword_says_what_it_demands() {
        let table = [
            (
                json!({ "type": "string", "enum": ["a", "b"] }),
                json!("c"),
                json!({ "allowedValues": ["a", "b"] }),
                "a, b",
            ),
            (json!({ "type": "integer" }), json!("c"), json!({ "type": "integer" }), "an integer"),
            (
                json!({ "type": ["string", "array"] }),
                json!(1),
                json!({ "type": ["string", "array"] }),
                "a string or an array",
            ),
            (json!({ "minimum": 1 }), json!(0), json!({ "comparison": ">=", "limit": 1 }), "at least 1"),
            (json!({ "maximum": 5 }), json!(6), json!({ "comparison": "<=", "limit": 5 }), "at most 5"),
            (json!({ "minLength": 1 }), json!(""), json!({ "limit": 1 }), "at least 1 character."),
            (json!({ "maxLength": 2 }), json!("abc"), json!({ "limit": 2 }), "at most 2 characters"),
            (json!({ "maxItems": 1 }), json!([1, 2]), json!({ "limit": 1 }), "at most 1 element"),
            (json!({ "pattern": "^a$" }), json!("b"), json!({ "pattern": "^a$" }), "^a$"),
        ];
        for (schema, value, params, words) in table {
            let violations = broken(schema.clone(), value);
            assert_eq!(violations.len(), 1, "{schema}: {violations:?}");
            assert_eq!(violations[0].params, params, "{schema}");
            assert!(violations[0].message.contains(words), "{schema}: {}", violations[0].message);
            assert!(violations[0].message.starts_with("`x` must "), "{}", violations[0].message);
        }
    }

    #[test]
    fn a_choice_names_its_alternatives() {
        let schema =
            json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] });
        let violations = broken(schema, json!(5));
        assert!(violations[0].message.contains("a string, or must be an array"), "{}", violations[0].message);
        assert_eq!(violations[0].params["alternatives"][1]["params"], json!({ "type": "array" }));
    }

    #[test]
    fn a_nul_is_found_wherever_it_stands() {
        for value in [json!("a\0"), json!(["a", "\0"]), json!({ "a": "b\0" }), json!({ "a\0": [1] })] {
            let violation = nul(&json!({ "query": "x", "given": value })).unwrap();
            assert_eq!(violation.instance_path, "/given");
            assert_eq!(violation.message, "`given` must not hold a NUL character.");
        }
        assert_eq!(nul(&json!({ "query": "x", "list": ["a"], "project_id": "\0" })), None);
        assert_eq!(nul(&json!({ "payload": { "alerts": ["a\0b"] } })), None);
    }

    #[test]
    fn nothing_grows_with_what_was_sent() {
        let long = "y".repeat(1_000_000);
        let violations = broken(json!({ "enum": ["a"] }), json!(long));
        assert!(serde_json::to_string(&violations).unwrap().len() < 1000);
        assert!(violations[0].value.as_ref().unwrap().len() < 300);
        let validator = jsonschema::validator_for(&json!({ "additionalProperties": false })).unwrap();
        let arguments = json!({ long: 1 });
        let error = validator.iter_errors(&arguments).next().unwrap();
        let violations = explain(&error, &["x".to_owned()]);
        assert!(serde_json::to_string(&violations).unwrap().len() < 1000, "{violations:?}");
    }
}
