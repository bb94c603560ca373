//! Front matter of pages: YAML between `---` lines, or TOML between `+++` lines, read within limits.

use contract::echo_within;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy};

/// Maximum length of the front matter in bytes.
const BYTES_MAX: usize = 64 << 10;
const DEPTH_MAX: usize = 8;
const NODES_MAX: usize = 4096;
/// Longest quote of the parser's message, in characters.
const REASON_CHARS_MAX: usize = 160;

/// How front matter is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FrontMatterFormat {
    /// Between `---` lines.
    Yaml,
    /// Between `+++` lines.
    Toml,
}

/// The front matter of a page.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum FrontMatter {
    /// The page has no front matter.
    #[default]
    None,
    /// It was read.
    Fields {
        /// Its format.
        format: FrontMatterFormat,
        /// Its fields.
        fields: Map<String, Value>,
    },
    /// It cannot be read.
    Broken {
        /// The reason.
        reason: String,
    },
}

impl FrontMatter {
    /// Splits a page into front matter and the offset at which its body begins.
    pub(super) fn split(text: &str) -> (Self, usize) {
        let Some((format, inner, body)) = enclosed(text) else { return (Self::None, 0) };
        let read = match format {
            FrontMatterFormat::Yaml => read_yaml(inner),
            FrontMatterFormat::Toml => read_toml(inner),
        };
        match read {
            Ok(Some(fields)) => (Self::Fields { format, fields }, body),
            // Text between two thematic breaks is not front matter.
            Ok(None) => (Self::None, 0),
            Err(reason) => (Self::Broken { reason: echo_within(&reason, REASON_CHARS_MAX) }, body),
        }
    }

    /// The fields; `None` if there is no front matter, or if it is broken.
    #[must_use]
    pub fn fields(&self) -> Option<&Map<String, Value>> {
        match self {
            Self::Fields { fields, .. } => Some(fields),
            Self::None | Self::Broken { .. } => None,
        }
    }

    /// The text of a field.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.fields()?.get(key)?.as_str()
    }
}

/// The text between the fences, and the offset behind them.
fn enclosed(text: &str) -> Option<(FrontMatterFormat, &str, usize)> {
    let text_at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let first = text[text_at..].split_inclusive('\n').next()?;
    let (format, fence) = match first.trim_end() {
        "---" => (FrontMatterFormat::Yaml, "---"),
        "+++" => (FrontMatterFormat::Toml, "+++"),
        _ => return None,
    };
    let start = text_at + first.len();
    let mut end = start;
    for line in text[start..].split_inclusive('\n') {
        if line.trim_end() == fence {
            return Some((format, &text[start..end], end + line.len()));
        }
        end += line.len();
        if end - start > BYTES_MAX {
            return None;
        }
    }
    None
}

/// Parses the fields of YAML; `None` if it is not a mapping. Aliases are refused, because a small text with aliases can expand to a huge
/// one.
fn read_yaml(text: &str) -> Result<Option<Map<String, Value>>, String> {
    let is_empty = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    if text.lines().all(is_empty) {
        return Ok(Some(Map::new()));
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_aliases: 0,
            max_anchors: 0,
            max_depth: DEPTH_MAX,
            flow_nesting_limit: DEPTH_MAX,
            max_documents: 1,
            max_nodes: NODES_MAX,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
    };
    match serde_saphyr::from_str_with_options::<Value>(text, options) {
        Ok(Value::Object(fields)) => Ok(Some(fields)),
        Ok(_) => Ok(None),
        Err(error) => {
            let message = error.to_string();
            Err(message.lines().find(|line| !line.trim().is_empty()).unwrap_or("not valid YAML").to_owned())
        }
    }
}

fn read_toml(text: &str) -> Result<Option<Map<String, Value>>, String> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
    let mut nodes_left = NODES_MAX;
    let fields = table.into_iter().map(|(key, value)| Some((key, json(value, DEPTH_MAX, &mut nodes_left)?)));
    fields.collect::<Option<_>>().map(Some).ok_or_else(|| "it has too many values".to_owned())
}

/// A TOML value as JSON; dates are texts. `None` if it is nested too deeply or has too many parts.
fn json(value: toml::Value, depth: usize, nodes_left: &mut usize) -> Option<Value> {
    *nodes_left = nodes_left.checked_sub(1)?;
    let depth = depth.checked_sub(1)?;
    Some(match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(value) => value.into(),
        toml::Value::Datetime(date) => date.to_string().into(),
        toml::Value::Array(items) => {
            Value::Array(items.into_iter().map(|item| json(item, depth, nodes_left)).collect::<Option<_>>()?)
        }
        toml::Value::Table(table) => {
            let fields = table.into_iter().map(|(key, field)| Some((key, json(field, depth, nodes_left)?)));
            Value::Object(fields.collect::<Option<_>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> Map<String, Value> {
        let (front_matter, _) = FrontMatter::split(text);
        front_matter.fields().cloned().unwrap_or_else(|| panic!("{front_matter:?}"))
    }

    #[test]
    fn yaml_and_toml_are_read() {
        let yaml = "---\ntitle: Retry\nweight: 3\ntags: [a, b]\n---\n# Text\n";
        assert_eq!(fields(yaml)["tags"], serde_json::json!(["a", "b"]));
        assert_eq!(&yaml[FrontMatter::split(yaml).1..], "# Text\n");
        let toml = "+++\ntitle = 'Retry'\ndate = 2026-01-02\n[params]\nx = 1.5\n+++\nText";
        let read = fields(toml);
        assert_eq!((&read["date"], &read["params"]["x"]), (&"2026-01-02".into(), &1.5.into()));
        assert_eq!(&toml[FrontMatter::split(toml).1..], "Text");
        assert_eq!(fields("\u{feff}---\r\n# none yet\r\n---\r\nText").len(), 0);
    }

    #[test]
    fn rules_and_text_are_no_front_matter() {
        for text in [
            "# Title\n", "---\nnever closed\n", "", "---", "---\nJust text.\n---\n", "text\n---\na: 1\n---\n",
        ] {
            assert_eq!(FrontMatter::split(text), (FrontMatter::None, 0), "{text:?}");
        }
    }

    #[test]
    fn what_is_broken_or_a_bomb_is_broken() {
        let nested = format!("a: {}", "[".repeat(10_000));
        let aliases = "a: &a [x, x]\nb: [*a, *a]";
        for inner in ["a: [", "a: 1\na: 2", "{{{{", aliases, &nested] {
            let (front_matter, body) = FrontMatter::split(&format!("---\n{inner}\n---\nText"));
            let FrontMatter::Broken { reason } = front_matter else { panic!("{inner}") };
            assert!(body > 0 && !reason.is_empty() && reason.len() < 1000, "{reason}");
        }
        let (toml, _) = FrontMatter::split("+++\na = \n+++\n");
        assert!(matches!(toml, FrontMatter::Broken { .. }), "{toml:?}");
        let deep = format!("+++\na = {}1{}\n+++\n", "[".repeat(40), "]".repeat(40));
        assert!(matches!(FrontMatter::split(&deep).0, FrontMatter::Broken { .. }));
        let long = format!("---\na: {}\n---\n", "x".repeat(BYTES_MAX));
        assert_eq!(FrontMatter::split(&long).1, 0, "too long to be one");
    }
}
