//! Parses and checks the filters of a request against the filter table.

use std::fmt;

use serde_json::{Map, Value};

use crate::search::filters::fields::{FIELDS, FilterField, FilterTarget, ValueKind};
use contract::{ErrorCode, Fault, echo};
use languages::nfc;

/// Maximum number of values of one field.
const VALUES_MAX: usize = 64;
/// Maximum length of a value in bytes.
const VALUE_BYTES_MAX: usize = 512;

/// A field with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestFilter {
    /// The field.
    pub field: &'static FilterField,
    /// The parsed value.
    pub value: FilterValue,
}

/// The value of a filter field.
#[derive(Debug, Clone, PartialEq)]
pub enum FilterValue {
    /// Alternatives, none empty.
    Texts(Vec<String>),
    /// A number from 0 on.
    Number(f64),
    /// `true` if the chunk must have the property; `false` if it must be known not to have it.
    Boolean(bool),
    /// Metadata keys, each with a part of its value; all must match.
    Pairs(Vec<(String, Option<String>)>),
}

impl FilterValue {
    /// Returns the value with its texts in the form in which texts are compared.
    pub(in crate::search) fn composed(&self) -> Self {
        let composed = |text: &String| nfc(text).into_owned();
        match self {
            Self::Texts(texts) => Self::Texts(texts.iter().map(composed).collect()),
            Self::Pairs(pairs) => {
                let pair =
                    |(key, value): &(String, Option<String>)| (composed(key), value.as_ref().map(composed));
                Self::Pairs(pairs.iter().map(pair).collect())
            }
            other => other.clone(),
        }
    }
}

impl fmt::Display for RequestFilter {
    /// Prints `lang = rust or go`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.field.name;
        match &self.value {
            FilterValue::Texts(values) => write!(f, "{name} = {}", values.join(" or ")),
            FilterValue::Number(number) => write!(f, "{name} = {number}"),
            FilterValue::Boolean(holds) => write!(f, "{name} = {holds}"),
            FilterValue::Pairs(pairs) => {
                let pair = |(key, value): &(String, Option<String>)| match value {
                    Some(value) => format!("{key}={value}"),
                    None => key.clone(),
                };
                write!(f, "{name} = {}", pairs.iter().map(pair).collect::<Vec<_>>().join(" and "))
            }
        }
    }
}

/// Parses the filter fields among `arguments`; other names are ignored.
///
/// # Errors
/// `INVALID_REQUEST` with the field, for an invalid value.
pub fn parse_filters(arguments: &Map<String, Value>) -> Result<Vec<RequestFilter>, Fault> {
    let mut all = Vec::new();
    for field in FIELDS {
        if let Some(value) = arguments.get(field.name) {
            let value = from_json(field, value)?;
            all.push(RequestFilter { field, value });
        }
    }
    // `risk` and `riskTag` name the same filter; `riskTag` takes precedence.
    if all.iter().any(|filter| filter.field.name == "riskTag") {
        all.retain(|filter| filter.field.name != "risk");
    }
    Ok(all)
}

fn from_json(field: &'static FilterField, value: &Value) -> Result<FilterValue, Fault> {
    match (field.kind, value) {
        (ValueKind::Json, Value::String(text)) => match serde_json::from_str(text) {
            Ok(parsed) => pairs(field, &parsed),
            Err(error) => Err(invalid_value(field, &format!("is not valid JSON: {error}"))),
        },
        (ValueKind::Pairs | ValueKind::Json, value) => pairs(field, value),
        (_, Value::String(text)) => from_text(field, text),
        (ValueKind::TextOrList, Value::Array(values)) => {
            let text = |value: &Value| value.as_str().map(str::to_owned);
            let values: Option<Vec<String>> = values.iter().map(text).collect();
            texts(field, values.ok_or_else(|| invalid_value(field, "takes texts"))?)
        }
        (ValueKind::Number, Value::Number(number)) => number_of(field, number.as_f64()),
        (ValueKind::Boolean, Value::Bool(holds)) => Ok(FilterValue::Boolean(*holds)),
        _ => Err(invalid_value(field, "has a value of another type")),
    }
}

/// Parses a value given as text: on the command line, or after `field:` in a query.
///
/// # Errors
/// `INVALID_REQUEST` with the field, for an invalid value.
pub(in crate::search) fn from_text(field: &'static FilterField, text: &str) -> Result<FilterValue, Fault> {
    match field.kind {
        ValueKind::Text | ValueKind::TextOrList => texts(field, vec![text.to_owned()]),
        ValueKind::Alternatives => {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            texts(field, parts.map(str::to_owned).collect())
        }
        ValueKind::Number => number_of(field, text.trim().parse().ok()),
        ValueKind::Boolean => match text.trim().to_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Ok(FilterValue::Boolean(true)),
            "false" | "no" | "off" | "0" => Ok(FilterValue::Boolean(false)),
            _ => Err(invalid_value(field, &format!("is true or false, not `{}`", echo(text)))),
        },
        ValueKind::Pairs => pairs(field, &Value::String(text.to_owned())),
        ValueKind::Json => match serde_json::from_str(text) {
            Ok(parsed) => pairs(field, &parsed),
            Err(error) => Err(invalid_value(field, &format!("is not valid JSON: {error}"))),
        },
    }
}

fn texts(field: &'static FilterField, values: Vec<String>) -> Result<FilterValue, Fault> {
    if values.len() > VALUES_MAX {
        return Err(invalid_value(field, &format!("has {} values; {VALUES_MAX} are allowed", values.len())));
    }
    if values.is_empty() || values.iter().any(|value| value.trim().is_empty()) {
        return Err(invalid_value(field, "is empty"));
    }
    if values.iter().any(|value| value.len() > VALUE_BYTES_MAX) {
        return Err(invalid_value(field, &format!("has a value of more than {VALUE_BYTES_MAX} bytes")));
    }
    if values.iter().any(|value| value.contains('\0')) {
        return Err(invalid_value(field, "holds a NUL character"));
    }
    // Blanks and quotes can be part of a signature, and of any text.
    let is_verbatim = matches!(field.target, FilterTarget::Signature | FilterTarget::Content);
    let value = |value: String| if is_verbatim { value } else { unquoted(&value).to_owned() };
    Ok(FilterValue::Texts(values.into_iter().map(value).collect()))
}

/// Removes surrounding blanks and quotes, which no name contains: `'foo'`, `"foo"`.
fn unquoted(value: &str) -> &str {
    let value = value.trim();
    let inside = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote).map(str::trim);
    let inner = ['"', '\'', '`'].into_iter().find_map(inside);
    inner.filter(|inner| !inner.is_empty()).unwrap_or(value)
}

fn number_of(field: &'static FilterField, number: Option<f64>) -> Result<FilterValue, Fault> {
    match number {
        Some(number) if number.is_finite() && number >= 0.0 => Ok(FilterValue::Number(number)),
        _ => Err(invalid_value(field, "takes a number from 0 on")),
    }
}

/// Parses metadata: `key`, `key=value`, an object, or a list of these.
fn pairs(field: &'static FilterField, value: &Value) -> Result<FilterValue, Fault> {
    let mut found = Vec::new();
    match value {
        Value::Array(elements) => {
            elements.iter().try_for_each(|element| add_pairs(field, element, &mut found))?
        }
        element => add_pairs(field, element, &mut found)?,
    }
    if found.is_empty() || found.len() > VALUES_MAX {
        return Err(invalid_value(field, &format!("takes 1 to {VALUES_MAX} keys")));
    }
    Ok(FilterValue::Pairs(found))
}

fn add_pairs(
    field: &'static FilterField,
    value: &Value,
    found: &mut Vec<(String, Option<String>)>,
) -> Result<(), Fault> {
    let mut add = |key: &str, value: Option<String>| {
        let key = key.trim().to_lowercase();
        if key.is_empty() || key.len() > VALUE_BYTES_MAX {
            return Err(invalid_value(field, "has an empty or over-long key"));
        }
        if key.contains('\0') || value.as_ref().is_some_and(|value| value.contains('\0')) {
            return Err(invalid_value(field, "holds a NUL character"));
        }
        found.push((key, value.map(|value| value.to_lowercase()).filter(|value| !value.is_empty())));
        Ok(())
    };
    match value {
        Value::String(text) => match text.split_once('=').or_else(|| text.split_once(": ")) {
            Some((key, value)) => add(key, Some(value.trim().to_owned())),
            None => add(text, None),
        },
        Value::Object(fields) => fields.iter().try_for_each(|(key, value)| match value {
            Value::Null => add(key, None),
            Value::String(text) => add(key, Some(text.clone())),
            Value::Array(_) | Value::Object(_) => {
                Err(invalid_value(field, "takes plain values; write nested keys with dots"))
            }
            plain => add(key, Some(plain.to_string())),
        }),
        _ => Err(invalid_value(field, "takes keys and values")),
    }
}

/// Returns the fault for an invalid value of a field.
pub(in crate::search) fn invalid_value(field: &FilterField, why: &str) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, format!("`{}` {why}.", field.name))
        .with_details(serde_json::json!({ "field": field.name }))
        .with_hint(format!("{}: {}", field.name, field.help))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn parse(arguments: Value) -> Result<Vec<RequestFilter>, Fault> {
        parse_filters(arguments.as_object().unwrap())
    }

    fn parse_one(arguments: Value) -> FilterValue {
        parse(arguments).unwrap().remove(0).value
    }

    #[test]
    fn every_kind_of_value_is_parsed() {
        let texts = |values: &[&str]| FilterValue::Texts(values.iter().map(|v| (*v).to_owned()).collect());
        assert_eq!(parse_one(json!({ "path": ["a", "b"] })), texts(&["a", "b"]));
        assert_eq!(parse_one(json!({ "lang": "ts, rust" })), texts(&["ts", "rust"]));
        assert_eq!(parse_one(json!({ "branchesMin": 3 })), FilterValue::Number(3.0));
        assert_eq!(parse_one(json!({ "async": false })), FilterValue::Boolean(false));
        let pair = |key: &str, value: Option<&str>| (key.to_owned(), value.map(str::to_owned));
        assert_eq!(
            parse_one(json!({ "meta": "Owner=Core" })),
            FilterValue::Pairs(vec![pair("owner", Some("core"))])
        );
        assert_eq!(
            parse_one(json!({ "meta": ["a", { "b": 1 }] })),
            FilterValue::Pairs(vec![pair("a", None), pair("b", Some("1"))])
        );
        assert_eq!(
            parse_one(json!({ "metaJson": "{\"a\": null}" })),
            FilterValue::Pairs(vec![pair("a", None)])
        );
    }

    #[test]
    fn invalid_values_are_refused() {
        for bad in [
            json!({ "metaJson": "{" }),
            json!({ "metaJson": [1] }),
            json!({ "meta": {} }),
            json!({ "meta": { "a": { "b": 1 } } }),
            json!({ "path": [] }),
            json!({ "path": [1] }),
            json!({ "calls": " " }),
            json!({ "churnMin": -1 }),
            json!({ "async": "perhaps" }),
            json!({ "path": ["a", "b\0"] }),
            json!({ "alias": "a=b\0" }),
            json!({ "meta": { "a\0": 1 } }),
            json!({ "metaJson": "{\"a\":\"b\\u0000\"}" }),
            json!({ "author": "x".repeat(600) }),
        ] {
            let fault = parse(bad.clone()).unwrap_err();
            assert_eq!(fault.code, ErrorCode::InvalidRequest, "{bad}");
            assert!(fault.hint.is_some());
        }
    }

    #[test]
    fn risk_tag_takes_precedence_over_risk() {
        let names: Vec<&str> = parse(json!({ "risk": "a", "riskTag": "b" }))
            .unwrap()
            .iter()
            .map(|filter| filter.field.name)
            .collect();
        assert_eq!(names, ["riskTag"]);
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(at in 0..FIELDS.len(), text in "\\PC{0,40}") {
            if let Ok(value) = from_text(&FIELDS[at], &text) {
                // The same text in JSON has the same value.
                let again = from_json(&FIELDS[at], &Value::String(text)).ok();
                prop_assert_eq!(again, Some(value));
            }
        }
    }
}
