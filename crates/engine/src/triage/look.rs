//! Reading what may be written in several ways: the first path that holds a value of the wanted kind.

use serde_json::Value;

/// The value at a dotted path; a key that itself has dots is found, too, and `0` is the first of a list.
pub(super) fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    if let Some(found) = step(value, path) {
        return Some(found);
    }
    path.match_indices('.').find_map(|(dot, _)| at(step(value, &path[..dot])?, &path[dot + 1..]))
}

fn step<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    match value {
        Value::Array(list) => list.get(key.parse::<usize>().ok()?),
        value => value.get(key).filter(|found| !found.is_null()),
    }
}

/// The first of `paths` that holds a text, a number or a truth value, as text; blank ones count as nothing.
pub(super) fn text(value: &Value, paths: &[&str]) -> Option<String> {
    paths.iter().find_map(|path| plain(at(value, path)?))
}

/// A plain value as text.
pub(super) fn plain(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// The first of `paths` that holds a number, also one that is written as text.
pub(super) fn number(value: &Value, paths: &[&str]) -> Option<f64> {
    let of = |value: &Value| value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    paths.iter().find_map(|path| of(at(value, path)?)).filter(|number| number.is_finite())
}

/// The first of `paths` that holds yes or no, also as text.
pub(super) fn truth(value: &Value, paths: &[&str]) -> Option<bool> {
    let of = |value: &Value| match value {
        Value::Bool(truth) => Some(*truth),
        Value::String(text) => match text.trim().to_lowercase().as_str() {
            "true" | "yes" | "1" => Some(true),
            "false" | "no" | "0" => Some(false),
            _ => None,
        },
        Value::Number(number) => number.as_i64().map(|number| number != 0),
        _ => None,
    };
    paths.iter().find_map(|path| of(at(value, path)?))
}

/// The texts of the first of `paths` that holds any: a list of texts, of objects with one of `keys`, or one text whose
/// parts `separators` divide.
pub(super) fn texts(value: &Value, paths: &[&str], keys: &[&str], separators: &[char]) -> Vec<String> {
    let of = |value: &Value| -> Vec<String> {
        let mut found: Vec<String> = match value {
            Value::Array(list) => {
                list.iter().filter_map(|one| plain(one).or_else(|| text(one, keys))).collect()
            }
            one => plain(one)
                .map(|all| all.split(separators).map(|part| part.trim().to_owned()).collect())
                .unwrap_or_default(),
        };
        found.retain(|text| !text.is_empty());
        found
    };
    paths
        .iter()
        .filter_map(|path| at(value, path))
        .map(of)
        .find(|found| !found.is_empty())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_found_in_several_ways() {
        let value = json!({ "a": { "b": " x ", "n": "7.5" }, "exposure.public": "Yes", "l": [{ "u": "1" }, "2"], "z": null });
        assert_eq!(text(&value, &["z", "a.b"]).as_deref(), Some("x"));
        assert_eq!(number(&value, &["a.n"]), Some(7.5));
        assert_eq!(truth(&value, &["exposure.public"]), Some(true));
        assert_eq!(texts(&value, &["l"], &["u"], &[]), ["1", "2"]);
        assert_eq!(texts(&json!({ "c": "waf; vpn, " }), &["c"], &[], &[',', ';']), ["waf", "vpn"]);
        assert_eq!(text(&value, &["l.0.u"]).as_deref(), Some("1"));
        assert_eq!(text(&value, &["a", "l", "no"]), None);
    }
}
