//! Edits JSON with comments through the concrete syntax tree of `jsonc-parser`, which keeps every byte that is not edited.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;

use crate::cli::clients::SERVER_NAME;

/// JSON with comments and trailing commas, as editors and agents read it, but without any JSON5 extensions.
const DIALECT: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Parses the value of a document; an empty document is an empty object.
pub(super) fn value(text: &str) -> Result<Value, String> {
    let root = parse(text)?;
    match root.value() {
        None => Ok(Value::Object(serde_json::Map::new())),
        Some(node) => node.to_serde_value().ok_or_else(|| "it holds a number that cannot be read".to_owned()),
    }
}

/// Returns the text of our entry in `section`.
pub(super) fn find(text: &str, section: &[String]) -> Result<Option<String>, String> {
    let root = parse(text)?;
    let Some(container) = container(&root, section)? else { return Ok(None) };
    Ok(property(&container, SERVER_NAME)?.and_then(|entry| entry.value()).map(|node| node.to_string()))
}

/// Adds our entry, and `section` where it is absent.
pub(super) fn insert(text: &str, section: &[String], entry: &Value) -> Result<String, String> {
    let root = parse(text)?;
    let mut object = match root.value() {
        None => root.object_value_or_set(),
        Some(_) => root.object_value().ok_or("its outermost value is not an object")?,
    };
    for key in section {
        object = match property(&object, key)? {
            Some(found) => found.object_value().ok_or_else(|| format!("`{key}` is not an object"))?,
            None => object.append(key, CstInputValue::Object(Vec::new())).object_value_or_set(),
        };
    }
    object.append(SERVER_NAME, input(entry));
    Ok(root.to_string())
}

/// Replaces the value of our entry.
pub(super) fn replace(text: &str, section: &[String], entry: &Value) -> Result<String, String> {
    let root = parse(text)?;
    let found = match container(&root, section)? {
        Some(container) => property(&container, SERVER_NAME)?,
        None => None,
    };
    found.ok_or("the entry is gone")?.set_value(input(entry));
    Ok(root.to_string())
}

/// Removes our entry, and those of the innermost `created` levels of `section` that are then empty.
pub(super) fn remove(text: &str, section: &[String], created: usize) -> Result<String, String> {
    let root = parse(text)?;
    let Some(container) = container(&root, section)? else { return Ok(text.to_owned()) };
    if let Some(entry) = property(&container, SERVER_NAME)? {
        entry.remove();
    }
    for depth in (section.len().saturating_sub(created)..section.len()).rev() {
        let Some(parent) = self::container(&root, &section[..depth])? else { break };
        let Some(level) = property(&parent, &section[depth])? else { break };
        // A comment inside is the user's text.
        let is_empty = level.object_value().is_some_and(|object| {
            object.properties().is_empty() && !object.children().iter().any(|node| node.is_comment())
        });
        if !is_empty {
            break;
        }
        level.remove();
    }
    Ok(root.to_string())
}

fn parse(text: &str) -> Result<CstRootNode, String> {
    CstRootNode::parse(text, &DIALECT).map_err(|error| format!("it is not valid JSON: {error}"))
}

/// Returns the object at `section`, if it exists.
fn container(root: &CstRootNode, section: &[String]) -> Result<Option<CstObject>, String> {
    let Some(outermost) = root.value() else { return Ok(None) };
    let mut object = outermost.as_object().ok_or("its outermost value is not an object")?;
    for key in section {
        let Some(found) = property(&object, key)? else { return Ok(None) };
        if holds_nothing(&found) {
            return Ok(None);
        }
        object = found.object_value().ok_or_else(|| format!("`{key}` is not an object"))?;
    }
    Ok(Some(object))
}

/// Checks whether the value is `null` or `[]`: this is how some programs write a section without servers.
fn holds_nothing(property: &CstObjectProp) -> bool {
    let value = property.value().and_then(|value| value.to_serde_value());
    value.is_some_and(|value| value.is_null() || value.as_array().is_some_and(Vec::is_empty))
}

/// Returns the text with an object in place of a level of `section` that is `null` or `[]`.
pub(super) fn cleared(text: &str, section: &[String]) -> Result<String, String> {
    let root = parse(text)?;
    for depth in 0..section.len() {
        let Some(parent) = container(&root, &section[..depth])? else { break };
        let Some(level) = property(&parent, &section[depth])? else { break };
        if holds_nothing(&level) {
            level.set_value(CstInputValue::Object(Vec::new()));
            return Ok(root.to_string());
        }
    }
    Ok(text.to_owned())
}

/// Counts the commas before a closing bracket. Programs that read plain JSON reject them.
pub(super) fn trailing_commas(text: &str) -> usize {
    let mut chars = text.chars().peekable();
    let (mut count, mut follows_comma) = (0, false);
    while let Some(char) = chars.next() {
        match (char, chars.peek()) {
            ('"', _) => {
                follows_comma = false;
                while let Some(char) = chars.next() {
                    match char {
                        '\\' => drop(chars.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            ('/', Some('/')) => drop(chars.by_ref().find(|char| *char == '\n')),
            ('/', Some('*')) => {
                chars.next();
                let mut last = ' ';
                let is_end = |char: char| std::mem::replace(&mut last, char) == '*' && char == '/';
                let _ = chars.by_ref().map(is_end).find(|is_end| *is_end);
            }
            ('}' | ']', _) => {
                count += usize::from(follows_comma);
                follows_comma = false;
            }
            (',', _) => follows_comma = true,
            (char, _) if char.is_whitespace() => {}
            _ => follows_comma = false,
        }
    }
    count
}

/// Returns the property `key`. Parsers disagree on which of several duplicates counts, so duplicates are an error.
fn property(object: &CstObject, key: &str) -> Result<Option<CstObjectProp>, String> {
    let mut found = object.properties().into_iter().filter(|one| one.decoded_name().as_deref() == Some(key));
    let first = found.next();
    if found.next().is_some() {
        return Err(format!("it has `{key}` twice"));
    }
    Ok(first)
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_without_a_value_after_them_are_counted() {
        for (text, count) in [
            ("", 0),
            ("{\"a\": [1, 2], \"b\": {}}", 0),
            ("{\"a\": [1, 2,],}", 2),
            ("{\"a\": 1, // one, }\n /* two, ] */ }", 1),
            ("{\"a,}\": \"\\\",]\"}", 0),
            ("{\"a\": 1 /*,*/ }", 0),
            ("[1, /**/ 2]", 0),
        ] {
            assert_eq!(trailing_commas(text), count, "{text}");
        }
    }
}
