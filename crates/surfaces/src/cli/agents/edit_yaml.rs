//! Edits YAML through the lossless tree of `yaml-edit`. Values are read with `serde-saphyr`, whose budget bounds hostile input.
//!
//! A section holds servers by key, or as a list of mappings with `name`.

use std::str::FromStr;

use serde_json::{Map, Value};
use yaml_edit::{Document, Mapping, YamlFile};

use crate::cli::clients::{SERVER_NAME, yaml_text};

/// Parses the value of a document; an empty document is an empty object.
pub(super) fn value(text: &str) -> Result<Value, String> {
    let is_empty = text.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#'));
    if is_empty {
        return Ok(Value::Object(Map::new()));
    }
    serde_saphyr::from_str(text).map_err(|error| {
        let text = error.to_string();
        format!("it is not valid YAML: {}", text.lines().next().unwrap_or_default())
    })
}

/// Returns the text of our entry in `section`.
pub(super) fn find(text: &str, section: &str) -> Result<Option<String>, String> {
    let whole = value(text)?;
    let Some(container) = whole.get(section) else { return Ok(None) };
    let Some((_, top)) = top(text)? else { return Ok(None) };
    let entry = match index(container)? {
        Some(Index::Key) => top.get_mapping(section).and_then(|servers| servers.get(SERVER_NAME)),
        Some(Index::Position(at)) => top.get_sequence(section).and_then(|servers| servers.get(at)),
        None => return Ok(None),
    };
    entry
        .map(|node| Some(node.to_string()))
        .ok_or_else(|| "its entry is written in a way that cannot be edited".to_owned())
}

/// Adds our entry, and `section` where it is absent.
pub(super) fn insert(text: &str, section: &str, list: bool, entry: &Value) -> Result<String, String> {
    let whole = value(text)?;
    let fields = whole.as_object().ok_or("its outermost value is not a mapping")?;
    let Some(container) = fields.get(section) else {
        // Appending text leaves comments at the end of the file where they are.
        let line_end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return Ok(format!("{text}{line_end}{}\n", yaml_text(&[section.to_owned()], list, entry)));
    };
    let (file, top) = top(text)?.ok_or("its outermost value is not a mapping")?;
    let block = mapping(&yaml(entry))?;
    match container {
        Value::Object(servers) if !list && !servers.is_empty() => {
            top.get_mapping(section).ok_or(NOT_EDITABLE)?.set(SERVER_NAME, block);
        }
        Value::Array(servers) if list && !servers.is_empty() => {
            top.get_sequence(section).ok_or(NOT_EDITABLE)?.push(block);
        }
        Value::Null => return insert_below(text, section, list, entry),
        _ => return Err(format!("`{section}` does not hold servers")),
    }
    Ok(file.to_string())
}

/// Replaces the value of our entry.
pub(super) fn replace(text: &str, section: &str, entry: &Value) -> Result<String, String> {
    let (whole, (file, top)) = (value(text)?, top(text)?.ok_or(NOT_EDITABLE)?);
    let block = mapping(&yaml(entry))?;
    match whole.get(section).map(index).transpose()?.flatten() {
        Some(Index::Key) => top.get_mapping(section).ok_or(NOT_EDITABLE)?.set(SERVER_NAME, block),
        Some(Index::Position(at)) => {
            top.get_sequence(section).ok_or(NOT_EDITABLE)?.set(at, block);
        }
        None => return Err("the entry is gone".to_owned()),
    }
    Ok(file.to_string())
}

/// Removes our entry, and also an empty section if `created` says that it is ours.
pub(super) fn remove(text: &str, section: &str, created: bool) -> Result<String, String> {
    let (whole, (file, top)) = (value(text)?, top(text)?.ok_or(NOT_EDITABLE)?);
    let container = whole.get(section).unwrap_or(&Value::Null);
    let others = match container {
        Value::Object(servers) => servers.len(),
        Value::Array(servers) => servers.len(),
        _ => 0,
    };
    if created && others <= 1 {
        top.remove(section);
        return Ok(file.to_string());
    }
    match index(container)? {
        Some(Index::Key) => drop(top.get_mapping(section).ok_or(NOT_EDITABLE)?.remove(SERVER_NAME)),
        Some(Index::Position(at)) => drop(top.get_sequence(section).ok_or(NOT_EDITABLE)?.remove(at)),
        None => {}
    }
    Ok(file.to_string())
}

const NOT_EDITABLE: &str = "it is written in a way that cannot be edited";

/// The position of our entry in its section.
enum Index {
    Key,
    Position(usize),
}

fn index(container: &Value) -> Result<Option<Index>, String> {
    match container {
        Value::Object(servers) => Ok(servers.contains_key(SERVER_NAME).then_some(Index::Key)),
        Value::Array(servers) => {
            let ours = |server: &&Value| server["name"] == SERVER_NAME;
            match servers.iter().filter(ours).count() {
                0 => Ok(None),
                1 => Ok(servers.iter().position(|server| ours(&server)).map(Index::Position)),
                _ => Err(format!("it has `{SERVER_NAME}` twice")),
            }
        }
        _ => Ok(None),
    }
}

/// Returns the text without the `{}`, `[]`, `~` or `null` of an empty section.
pub(super) fn cleared(text: &str, section: &str) -> String {
    let lines = text.split_inclusive('\n');
    lines.map(|line| without_empty_value(line, section).unwrap_or_else(|| line.to_owned())).collect()
}

fn without_empty_value(line: &str, section: &str) -> Option<String> {
    let rest = line.strip_prefix(section)?.strip_prefix(':')?;
    let value = rest.split('#').next().unwrap_or_default().trim();
    let dense: String = value.split_whitespace().collect();
    if !matches!(dense.as_str(), "{}" | "[]" | "~" | "null" | "Null" | "NULL") {
        return None;
    }
    let left = rest.replacen(value, "", 1);
    // A comment stays where it is.
    let left = if left.trim().is_empty() { left.trim_start_matches(' ') } else { &left };
    Some(format!("{section}:{left}"))
}

/// Adds our entry below a section whose line has no value yet.
fn insert_below(text: &str, section: &str, list: bool, entry: &Value) -> Result<String, String> {
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        offset += line.len();
        let key = line.split('#').next().unwrap_or_default().trim_end();
        if key == format!("{section}:") {
            let block = yaml_text(&[section.to_owned()], list, entry);
            let (_, below) = block.split_once('\n').unwrap_or_default();
            let line_end = if line.ends_with('\n') { "" } else { "\n" };
            return Ok(format!("{}{line_end}{below}\n{}", &text[..offset], &text[offset..]));
        }
    }
    Err(NOT_EDITABLE.to_owned())
}

/// Returns the file and its outermost mapping, which share one tree.
fn top(text: &str) -> Result<Option<(YamlFile, Mapping)>, String> {
    let file = YamlFile::from_str(text).map_err(|error| format!("it is not valid YAML: {error}"))?;
    let top = file.documents().next().and_then(|document| document.as_mapping());
    Ok(top.map(|top| (file, top)))
}

fn mapping(text: &str) -> Result<Mapping, String> {
    let document = Document::from_str(text).map_err(|error| error.to_string())?;
    document.as_mapping().ok_or_else(|| "the entry is not a mapping".to_owned())
}

fn yaml(entry: &Value) -> String {
    yaml_text(&[] as &[&str], false, entry)
}
