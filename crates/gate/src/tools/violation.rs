//! Converts violations of an input schema: keywords and params as in Ajv, and a message for the author of the call.
//!
//! The value that was sent is shown once and truncated, so that its size does not determine the size of the answer.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::{Value, json};

use super::schema::nearest_name;
use contract::{Violation, echo, echo_within};

/// Messages quote names of fields up to this many characters; they truncate a longer one or give only its length.
const NAME_CHARS_MAX: usize = 64;
/// Maximum number of allowed values that a violation lists.
const ALLOWED_MAX: usize = 50;
/// Number of unknown fields for which the nearest known field is suggested.
const NEAREST_MAX: usize = 16;

/// Converts an error of the validator; `fields` are the known fields at the root, for suggestions.
pub(super) fn violations_of(error: &ValidationError<'_>, fields: &[String]) -> Vec<Violation> {
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
            let rule = broken_rule(kind);
            let value = rule.shows_value.then(|| shortened_value(error.instance())).flatten();
            vec![violation(rule.params, format!("{} {}.", field_name(&path), rule.demand), value)]
        }
    }
}

/// Fields in which NUL characters are not a violation: a project id has an error code of its own, raised where it is parsed,
/// and the report of a scanner is cleaned when it is ingested.
const NUL_ALLOWED: [&str; 2] = ["project_id", "payload"];

/// The violation of the first field that contains a NUL character, which Postgres cannot store.
pub(super) fn nul_violation(arguments: &Value) -> Option<Violation> {
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
        fields.iter().find(|(name, value)| !NUL_ALLOWED.contains(&name.as_str()) && holds(value))?;
    Some(Violation {
        instance_path: format!("/{name}"),
        schema_path: format!("#/properties/{name}/pattern"),
        keyword: "pattern".to_owned(),
        params: json!({ "pattern": "^[^\\u0000]*$" }),
        message: format!("`{name}` must not contain a NUL character."),
        value: None,
    })
}

/// The name of the field at a JSON pointer, quoted for a message.
fn field_name(path: &str) -> String {
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
    match nearest_name(&name, known.iter().map(String::as_str)) {
        Some(near) => format!("Unknown field `{name}`; did you mean `{near}`?"),
        None if known.is_empty() => format!("Unknown field `{name}`."),
        None => format!("Unknown field `{name}`; the fields are: {}.", known.join(", ")),
    }
}

/// A broken rule of the schema.
struct Rule {
    params: Value,
    /// The part of the message that follows the field's name.
    demand: String,
    /// `true` if the violation shows the wrong value.
    shows_value: bool,
}

fn broken_rule(kind: &Kind) -> Rule {
    let rule = |params: Value, demand: String, shows_value: bool| Rule { params, demand, shows_value };
    let limit = |comparison: &str, limit: &Value, demand: &str| {
        rule(json!({ "comparison": comparison, "limit": limit }), format!("must be {demand} {limit}"), true)
    };
    match kind {
        Kind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            let listed = &options[..options.len().min(ALLOWED_MAX)];
            let mut demand = listed.iter().map(unquoted).collect::<Vec<_>>().join(", ");
            if options.len() > listed.len() {
                demand.push_str(&format!(" … ({} values)", options.len()));
            }
            rule(json!({ "allowedValues": listed }), format!("must be one of: {demand}"), true)
        }
        Kind::Constant { expected_value } => rule(
            json!({ "allowedValue": expected_value.as_ref() }),
            format!("must be {}", unquoted(expected_value)),
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
                format!("must be {}", types.iter().map(|t| with_article(t)).collect::<Vec<_>>().join(" or ")),
                true,
            )
        }
        Kind::Minimum { limit: least } => limit(">=", least, "at least"),
        Kind::Maximum { limit: most } => limit("<=", most, "at most"),
        Kind::ExclusiveMinimum { limit: bound } => limit(">", bound, "more than"),
        Kind::ExclusiveMaximum { limit: bound } => limit("<", bound, "less than"),
        Kind::MinLength { limit } => length_rule(*limit, "at least", "character"),
        Kind::MaxLength { limit } => length_rule(*limit, "at most", "character"),
        Kind::MinItems { limit } => length_rule(*limit, "at least", "element"),
        Kind::MaxItems { limit } => length_rule(*limit, "at most", "element"),
        Kind::MinProperties { limit } => length_rule(*limit, "at least", "field"),
        Kind::MaxProperties { limit } => length_rule(*limit, "at most", "field"),
        Kind::Pattern { pattern } => {
            rule(json!({ "pattern": pattern }), format!("must match the pattern {pattern}"), true)
        }
        Kind::Format { format } => {
            rule(json!({ "format": format }), format!("must be a valid {format}"), true)
        }
        Kind::MultipleOf { multiple_of } => {
            rule(json!({ "multipleOf": multiple_of }), format!("must be a multiple of {multiple_of}"), true)
        }
        Kind::UniqueItems => rule(json!({}), "must not have duplicate elements".to_owned(), false),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => alternatives(context),
        Kind::PropertyNames { error } => {
            let inner = broken_rule(error.kind());
            rule(inner.params, format!("has a field whose name {}", inner.demand), false)
        }
        other => rule(json!({}), format!("violates the keyword `{}` of its schema", other.keyword()), false),
    }
}

/// The rule of an `anyOf` or `oneOf`: the first broken rule of each alternative.
fn alternatives(context: &[Vec<ValidationError<'static>>]) -> Rule {
    let mut demand: Vec<String> = Vec::new();
    let mut params = Vec::new();
    for failed in context.iter().filter_map(|failed| failed.first()) {
        let rule = broken_rule(failed.kind());
        if !demand.contains(&rule.demand) {
            demand.push(rule.demand);
            params.push(json!({ "keyword": failed.kind().keyword(), "params": rule.params }));
        }
    }
    let demand = match demand.is_empty() {
        true => "matches none of the allowed forms".to_owned(),
        false => demand.join(", or "),
    };
    Rule { params: json!({ "alternatives": params }), demand, shows_value: true }
}

fn length_rule(limit: u64, comparison: &str, what: &str) -> Rule {
    let plural = if limit == 1 { "" } else { "s" };
    Rule {
        params: json!({ "limit": limit }),
        demand: format!("must have {comparison} {limit} {what}{plural}"),
        shows_value: false,
    }
}

fn with_article(name: &str) -> String {
    match name {
        "integer" | "array" | "object" => format!("an {name}"),
        "null" => name.to_owned(),
        _ => format!("a {name}"),
    }
}

/// A value of a schema as text; strings without quotes.
fn unquoted(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A wrong value for a violation: strings are truncated, arrays and objects only described.
fn shortened_value(value: &Value) -> Option<String> {
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
        validator.iter_errors(&arguments).flat_map(|error| violations_of(&error, &["x".to_owned()])).collect()
    }

    #[test]
    fn each_keyword_has_params_and_a_message() {
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
        for (schema, value, params, demand) in table {
            let violations = broken(schema.clone(), value);
            assert_eq!(violations.len(), 1, "{schema}: {violations:?}");
            assert_eq!(violations[0].params, params, "{schema}");
            assert!(violations[0].message.contains(demand), "{schema}: {}", violations[0].message);
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
    fn nul_is_found_at_any_depth() {
        for value in [json!("a\0"), json!(["a", "\0"]), json!({ "a": "b\0" }), json!({ "a\0": [1] })] {
            let violation = nul_violation(&json!({ "query": "x", "given": value })).unwrap();
            assert_eq!(violation.instance_path, "/given");
            assert_eq!(violation.message, "`given` must not contain a NUL character.");
        }
        assert_eq!(nul_violation(&json!({ "query": "x", "list": ["a"], "project_id": "\0" })), None);
        assert_eq!(nul_violation(&json!({ "payload": { "alerts": ["a\0b"] } })), None);
    }

    #[test]
    fn the_size_of_a_violation_is_bounded() {
        let long = "y".repeat(1_000_000);
        let violations = broken(json!({ "enum": ["a"] }), json!(long));
        assert!(serde_json::to_string(&violations).unwrap().len() < 1000);
        assert!(violations[0].value.as_ref().unwrap().len() < 300);
        let validator = jsonschema::validator_for(&json!({ "additionalProperties": false })).unwrap();
        let arguments = json!({ long: 1 });
        let error = validator.iter_errors(&arguments).next().unwrap();
        let violations = violations_of(&error, &["x".to_owned()]);
        assert!(serde_json::to_string(&violations).unwrap().len() < 1000, "{violations:?}");
    }
}
