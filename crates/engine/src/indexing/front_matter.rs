//! Front matter of documents: YAML between `---` lines, or TOML between `+++` lines.

use serde_json::Value;

/// Longest front matter that is parsed, in bytes.
const FRONT_MATTER_BYTES_MAX: usize = 16 * 1024;
/// Maximum number of pairs, and maximum length of a pair in bytes.
const PAIRS_MAX: usize = 256;
const PAIR_BYTES_MAX: usize = 512;
/// Maximum nesting depth that is read.
const DEPTH_MAX: usize = 8;

/// Returns the metadata as `key=value` pairs in lower case. Nested keys are joined by dots, each element of a list is a
/// separate pair, and an object is also included as JSON. `None` if there is no valid front matter.
pub(super) fn front_matter(text: &str) -> Option<Vec<String>> {
    let (fence, parse): (&str, fn(&str) -> Option<Value>) =
        if text.starts_with("---\n") || text.starts_with("---\r\n") {
            ("---", |inner| serde_saphyr::from_str(inner).ok())
        } else if text.starts_with("+++\n") || text.starts_with("+++\r\n") {
            ("+++", |inner| toml::from_str(inner).ok())
        } else {
            return None;
        };
    let start = text.find('\n')? + 1;
    let mut end = start;
    for line in text[start..].split_inclusive('\n') {
        if line.trim_end() == fence {
            let pairs = metadata_pairs(&parse(&text[start..end])?);
            return (!pairs.is_empty()).then_some(pairs);
        }
        end += line.len();
        if end - start > FRONT_MATTER_BYTES_MAX {
            return None;
        }
    }
    None
}

/// Converts metadata in the object `value` to the `key=value` pairs that are stored.
#[must_use]
pub fn metadata_pairs(value: &Value) -> Vec<String> {
    let mut pairs = Vec::new();
    flatten("", value, 0, &mut pairs);
    pairs
}

fn flatten(key: &str, value: &Value, depth: usize, pairs: &mut Vec<String>) {
    if pairs.len() >= PAIRS_MAX || depth > DEPTH_MAX {
        return;
    }
    let mut push = |text: String| {
        let pair = format!("{key}={text}").to_lowercase().replace(['\0', '\u{1f}'], " ");
        if !key.is_empty() && pair.len() <= PAIR_BYTES_MAX {
            pairs.push(pair);
        }
    };
    match value {
        Value::Null => {}
        Value::String(text) => push(text.clone()),
        Value::Array(elements) => elements.iter().for_each(|element| flatten(key, element, depth + 1, pairs)),
        Value::Object(fields) => {
            push(value.to_string());
            for (name, field) in fields {
                let inner = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                flatten(&inner, field, depth + 1, pairs);
            }
        }
        other => push(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_and_toml_are_read() {
        let yaml = "---\ntitle: Retry Storm\ntags: [a, B]\nowner:\n  team: Core\n---\n# Text\n";
        let pairs = front_matter(yaml).unwrap();
        for pair in ["title=retry storm", "tags=a", "tags=b", "owner.team=core"] {
            assert!(pairs.contains(&pair.to_owned()), "{pairs:?}");
        }
        assert_eq!(front_matter("+++\nn = 1\n+++\n").unwrap(), ["n=1"]);
    }

    #[test]
    fn missing_or_malformed_front_matter_is_ignored() {
        for text in
            ["# Title\n", "---\nnever closed\n", "---\n: : :\n---\n", "---\n---\n", "", "---\n{{{{\n---\n"]
        {
            assert_eq!(front_matter(text), None, "{text:?}");
        }
    }
}
