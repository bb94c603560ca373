//! Looks up values in JSON whose structure differs between scanners: tries several paths and takes the first value of
//! the right type.

use serde_json::Value;

/// Returns the value at a dotted path. A key may itself contain dots, and a number is an index into a list, from 0.
pub(super) fn value_at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    if let Some(found) = child(value, path) {
        return Some(found);
    }
    path.match_indices('.').find_map(|(dot, _)| value_at(child(value, &path[..dot])?, &path[dot + 1..]))
}

fn child<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    match value {
        Value::Array(list) => list.get(key.parse::<usize>().ok()?),
        value => value.get(key).filter(|found| !found.is_null()),
    }
}

/// Returns the first text, number or boolean at one of `paths`, as text; blank texts are skipped.
pub(super) fn text_at(value: &Value, paths: &[&str]) -> Option<String> {
    paths.iter().find_map(|path| scalar_text(value_at(value, path)?))
}

/// Returns a text, number or boolean as text; `None` if it is blank or of another type.
pub(super) fn scalar_text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// Returns the first number at one of `paths`, even if written as text.
pub(super) fn number_at(value: &Value, paths: &[&str]) -> Option<f64> {
    let parse = |value: &Value| value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    paths.iter().find_map(|path| parse(value_at(value, path)?)).filter(|number| number.is_finite())
}

/// Returns the first boolean at one of `paths`, even if written as `yes`, `no` or a number.
pub(super) fn bool_at(value: &Value, paths: &[&str]) -> Option<bool> {
    let parse = |value: &Value| match value {
        Value::Bool(truth) => Some(*truth),
        Value::String(text) => match text.trim().to_lowercase().as_str() {
            "true" | "yes" | "1" => Some(true),
            "false" | "no" | "0" => Some(false),
            _ => None,
        },
        Value::Number(number) => number.as_i64().map(|number| number != 0),
        _ => None,
    };
    paths.iter().find_map(|path| parse(value_at(value, path)?))
}

/// Returns the texts at the first of `paths` that has any: a list of texts, a list of objects with one of `keys`, or one text split at
/// `separators`.
pub(super) fn texts_at(value: &Value, paths: &[&str], keys: &[&str], separators: &[char]) -> Vec<String> {
    let split = |value: &Value| -> Vec<String> {
        let mut found: Vec<String> = match value {
            Value::Array(list) => {
                list.iter().filter_map(|item| scalar_text(item).or_else(|| text_at(item, keys))).collect()
            }
            value => scalar_text(value)
                .map(|text| text.split(separators).map(|part| part.trim().to_owned()).collect())
                .unwrap_or_default(),
        };
        found.retain(|text| !text.is_empty());
        found
    };
    paths
        .iter()
        .filter_map(|path| value_at(value, path))
        .map(split)
        .find(|found| !found.is_empty())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_found_at_paths_and_converted() {
        let value = json!({ "a": { "b": " x ", "n": "7.5" }, "exposure.public": "Yes", "l": [{ "u": "1" }, "2"], "z": null });
        assert_eq!(text_at(&value, &["z", "a.b"]).as_deref(), Some("x"));
        assert_eq!(number_at(&value, &["a.n"]), Some(7.5));
        assert_eq!(bool_at(&value, &["exposure.public"]), Some(true));
        assert_eq!(texts_at(&value, &["l"], &["u"], &[]), ["1", "2"]);
        assert_eq!(texts_at(&json!({ "c": "waf; vpn, " }), &["c"], &[], &[',', ';']), ["waf", "vpn"]);
        assert_eq!(text_at(&value, &["l.0.u"]).as_deref(), Some("1"));
        assert_eq!(text_at(&value, &["a", "l", "no"]), None);
    }
}
