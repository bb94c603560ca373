//! Front matter of agents' files: YAML, and the invalid YAML that agents accept.

use serde_json::{Map, Value};

use super::globs::split_globs;
use crate::files::split_front_matter;
use crate::yaml;

/// Maximum length of the front matter in bytes.
const BYTES_MAX: usize = 64 << 10;
/// Keys whose values are globs. Agents write them without quotes, and then YAML takes `*` for an alias.
const GLOB_KEYS: &[&str] = &["globs", "glob", "applyTo"];
/// Keys whose values are prose, in which people write `: `.
const PROSE_KEYS: &[&str] = &["description", "name"];

/// The fields of front matter.
#[derive(Debug, Default)]
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    /// Splits `text`, whose lines end with a line feed, into the fields of its front matter and the text below.
    ///
    /// # Errors
    /// If the front matter cannot be read, or has no end: agents would take it for text, which was not intended.
    pub(super) fn split(text: &str) -> Result<(Self, &str), String> {
        match split_front_matter(text) {
            None if begins_fields(text) => {
                Err("The front matter has no end: a line `---` must follow its fields.".to_owned())
            }
            None => Ok((Self::default(), text)),
            Some((front_matter, below)) => Ok((Self::read(front_matter)?, below)),
        }
    }

    fn read(front_matter: &str) -> Result<Self, String> {
        if front_matter.len() > BYTES_MAX {
            return Err(format!(
                "The front matter has {} bytes; at most {BYTES_MAX} are allowed.",
                front_matter.len()
            ));
        }
        let text = with_quoted_globs(front_matter);
        let is_empty = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
        if text.lines().all(is_empty) {
            return Ok(Self::default());
        }
        let value = yaml::parse::<Value>(&text)
            .or_else(|error| yaml::parse(&with_quoted_prose(&text)).map_err(|_| error))?;
        match value {
            Value::Object(fields) => Ok(Self(fields)),
            _ => Err("The front matter must be a mapping of keys to values.".into()),
        }
    }

    /// Returns the text of a field; `None` if it is blank.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        let text = match self.0.get(key)? {
            Value::String(text) => text.trim().to_owned(),
            value @ (Value::Number(_) | Value::Bool(_)) => value.to_string(),
            _ => return None,
        };
        (!text.is_empty()).then_some(text)
    }

    /// Checks whether a field is true.
    pub(super) fn is_true(&self, key: &str) -> bool {
        self.text(key).is_some_and(|text| text.eq_ignore_ascii_case("true"))
    }

    /// Returns the globs of a field: a list, or a text with commas.
    pub(super) fn globs(&self, key: &str) -> Vec<String> {
        let texts: Vec<&str> = match self.0.get(key) {
            Some(Value::String(text)) => vec![text],
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        texts.into_iter().flat_map(split_globs).map(str::to_owned).collect()
    }
}

/// Checks whether a text begins with `---` and a field; `---` followed by prose is a mere separator.
fn begins_fields(text: &str) -> bool {
    let mut lines = text.lines();
    let is_opened = lines.next().is_some_and(|line| line.trim_end() == "---");
    let first = lines.find(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let is_key = |key: &str| {
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    is_opened && first.and_then(key_and_value).is_some_and(|(key, _)| is_key(key))
}

fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    Some((key, value.trim()))
}

/// Quotes the globs that are on the line of their key or, as a list, on lines of their own.
fn with_quoted_globs(front_matter: &str) -> String {
    let mut lines = Vec::new();
    let mut in_list = false;
    for line in front_matter.lines() {
        match key_and_value(line) {
            Some((key, value)) if GLOB_KEYS.contains(&key) => {
                in_list = value.is_empty();
                lines.push(
                    quoted_globs(value).map_or_else(|| line.to_owned(), |value| format!("{key}: {value}")),
                );
            }
            _ => {
                let item = line.trim_start().strip_prefix("- ").map(str::trim);
                in_list &= item.is_some() || line.trim().is_empty();
                match item {
                    Some(item) if in_list && !is_quoted(item) => {
                        let indentation = line.len() - line.trim_start().len();
                        let glob = without_comment(item);
                        lines.push(format!("{}- {}", &line[..indentation], yaml::quoted(glob)));
                    }
                    _ => lines.push(line.to_owned()),
                }
            }
        }
    }
    lines.join("\n")
}

/// Returns the globs of one line as a list in JSON; `None` if YAML reads the value as it is.
fn quoted_globs(value: &str) -> Option<String> {
    let value = without_comment(value);
    let list = value.strip_prefix('[').and_then(|value| value.strip_suffix(']'));
    let is_yaml = value.is_empty() || is_quoted(value) || value.starts_with(['|', '>']);
    if is_yaml || (list.is_none() && value.starts_with('[')) {
        return None;
    }
    let unquoted = |glob: &str| yaml::quoted(glob.trim_matches(['"', '\'']));
    Some(format!(
        "[{}]",
        split_globs(list.unwrap_or(value)).into_iter().map(unquoted).collect::<Vec<_>>().join(", ")
    ))
}

fn is_quoted(value: &str) -> bool {
    value.starts_with(['"', '\''])
}

fn without_comment(value: &str) -> &str {
    if is_quoted(value) { value } else { value.split_once(" #").map_or(value, |(value, _)| value.trim()) }
}

/// Quotes prose on the line of its key.
fn with_quoted_prose(front_matter: &str) -> String {
    let lines: Vec<&str> = front_matter.lines().collect();
    let quote = |(at, line): (usize, &&str)| match key_and_value(line) {
        Some((key, value))
            if PROSE_KEYS.contains(&key)
                && !value.is_empty()
                && !value.starts_with(['"', '\'', '|', '>'])
                && !lines.get(at + 1).is_some_and(|next| next.starts_with([' ', '\t'])) =>
        {
            format!("{key}: {}", yaml::quoted(value))
        }
        _ => (*line).to_owned(),
    };
    lines.iter().enumerate().map(quote).collect::<Vec<_>>().join("\n")
}

/// Formats globs as the value of a key: unquoted where agents read them unquoted, else quoted.
pub(super) fn globs_value(globs: &[String], always_quoted: bool) -> String {
    let value = globs.join(",");
    let is_plain = value
        .starts_with(|first: char| first.is_alphanumeric() || matches!(first, '*' | '.' | '/'))
        && !value.contains(['#', ':']);
    if is_plain && !always_quoted { value } else { yaml::quoted(&value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(front_matter: &str) -> Fields {
        Fields::read(front_matter).unwrap_or_else(|error| panic!("{error}\n{front_matter}"))
    }

    #[test]
    fn globs_are_read_as_people_and_agents_write_them() {
        let both = ["**/*.ts", "src/*.{js,jsx}"];
        for (front_matter, expected) in [
            ("globs: **/*.ts,src/*.{js,jsx}", &both[..]),
            ("globs: **/*.ts, src/*.{js,jsx} # code", &both),
            ("globs: \"**/*.ts, src/*.{js,jsx}\"", &both),
            ("globs: '**/*.ts,src/*.{js,jsx}' # code", &both),
            ("globs: [\"**/*.ts\", 'src/*.{js,jsx}']", &both),
            ("globs: [**/*.ts, src/*.{js,jsx}]", &both),
            ("globs: [\n  \"**/*.ts\",\n  \"src/*.{js,jsx}\" ]", &both),
            ("globs:\n  - **/*.ts\n\n  - \"src/*.{js,jsx}\"\nx: y", &both),
            ("globs:\n- **/*.ts # all\n- src/*.{js,jsx}", &both),
            ("globs: >\n  **/*.ts,\n  src/*.{js,jsx}", &both),
            ("globs: {a,b}/**", &["{a,b}/**"]),
            ("globs: *", &["*"]),
            ("globs:\ndescription: x\nother:\n  - *.x".replace("*.x", "x").as_str(), &[]),
            ("globs:", &[]),
            ("globs: ,", &[]),
        ] {
            assert_eq!(fields(front_matter).globs("globs"), expected, "{front_matter}");
        }
    }

    #[test]
    fn prose_may_contain_colons() {
        let text = |front_matter: &str| fields(front_matter).text("description");
        assert_eq!(text("description: Use: always # x\nglobs: *.ts").as_deref(), Some("Use: always # x"));
        assert_eq!(text("description: a # comment").as_deref(), Some("a"));
        assert_eq!(text("description: >-\n  a\n  b\nglobs: *.ts").as_deref(), Some("a b"));
        assert_eq!(text("description: 2026").as_deref(), Some("2026"));
        assert_eq!(text("description:\nalwaysApply: true"), None);
        assert!(fields("alwaysApply: true").is_true("alwaysApply"));
        assert!(!fields("alwaysApply: yes please").is_true("alwaysApply"));
    }

    #[test]
    fn what_has_no_end_or_is_broken_is_an_error() {
        for text in ["---\nname: x\ntext", "---\n\n# a\nglobs:\n  - x", "---\nname: x"] {
            assert!(Fields::split(text).unwrap_err().contains("has no end"), "{text}");
        }
        for text in ["---\n\nJust a separator: it is no field.\n", "---\n# T\n\ntext", "---", "name: x"] {
            let (fields, below) = Fields::split(text).unwrap();
            assert!(fields.0.is_empty() && below == text, "{text}");
        }
        assert_eq!(Fields::split("---\n# only a comment\n---\ntext").unwrap().1, "text");
        for front_matter in
            ["a: [", "- a", "a: &x 1\nb: *x", "a: 1\na: 2", "just text", &"x".repeat(BYTES_MAX + 1)]
        {
            let error = Fields::split(&format!("---\n{front_matter}\n---\n")).unwrap_err();
            assert!(error.contains("front matter") && error.ends_with('.'), "{error}");
        }
    }

    #[test]
    fn written_globs_read_back() {
        for globs in
            [&["**/*.ts", "a"][..], &["[ab]/x", "c[d]"], &["{a,b}/**"], &["a#b", "c:d"], &["!a"], &["a\\[b"]]
        {
            let globs: Vec<String> = globs.iter().map(|glob| (*glob).to_owned()).collect();
            for always_quoted in [false, true] {
                let front_matter = format!("globs: {}", globs_value(&globs, always_quoted));
                assert_eq!(fields(&front_matter).globs("globs"), globs, "{front_matter}");
            }
        }
    }
}
