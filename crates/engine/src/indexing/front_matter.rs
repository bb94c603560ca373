//! The metadata at the head of a document: YAML between `---` lines, TOML between `+++` lines.

use serde_json::Value;

/// Longest front matter that is read, in bytes.
const BYTES_MAX: usize = 16 * 1024;
/// Most pairs kept, and the length of one in bytes.
const PAIRS_MAX: usize = 256;
const PAIR_BYTES_MAX: usize = 512;
/// Deepest nesting that is read.
const DEPTH_MAX: usize = 8;

/// The metadata as `key=value`, lower case; nested keys have dots, each element of a list is a pair of its own,
/// and what has parts is also there as JSON. None where there is none, or none that can be read.
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
            let pairs = pairs(&parse(&text[start..end])?);
            return (!pairs.is_empty()).then_some(pairs);
        }
        end += line.len();
        if end - start > BYTES_MAX {
            return None;
        }
    }
    None
}

/// What is stored as metadata of a text whose metadata is `value`, an object.
#[must_use]
pub fn pairs(value: &Value) -> Vec<String> {
    let mut pairs = Vec::new();
    flatten("", value, 0, &mut pairs);
    pairs
}

fn flatten(key: &str, value: &Value, depth: usize, pairs: &mut Vec<String>) {
    if pairs.len() >= PAIRS_MAX || depth > DEPTH_MAX {
        return;
    }
    let mut push = |said: String| {
        let pair = format!("{key}={said}").to_lowercase().replace(['\0', '\u{1f}'], " ");
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
    fn what_is_none_or_broken_is_nothing() {
        for text in
            ["# Title\n", "---\nnever closed\n", "---\n: : :\n---\n", "---\n---\n", "", "---\n{{{{\n---\n"]
        {
            assert_eq!(front_matter(text), None, "{text:?}");
        }
    }
}
