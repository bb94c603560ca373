//! Edits TOML through `toml_edit`, which keeps comments, order and layout.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value as TomlValue};

use crate::cli::clients::{SERVER_NAME, toml_text};

/// Parses the value of a document.
pub(super) fn value(text: &str) -> Result<Value, String> {
    let table: toml::Table = toml::from_str(text).map_err(invalid)?;
    serde_json::to_value(table).map_err(|error| error.to_string())
}

/// Returns the text of our entry in `section`.
pub(super) fn find(text: &str, section: &[String]) -> Result<Option<String>, String> {
    let document = parse(text)?;
    let mut table: &dyn TableLike = document.as_table();
    for key in section {
        let Some(item) = table.get(key) else { return Ok(None) };
        if is_empty_list(item) {
            return Ok(None);
        }
        table = item.as_table_like().ok_or_else(|| format!("`{key}` is not a table"))?;
    }
    Ok(table.get(SERVER_NAME).map(Item::to_string))
}

/// Returns the text with a table in place of a level of `section` that is an empty list.
pub(super) fn cleared(text: &str, section: &[String]) -> Result<String, String> {
    let mut document = parse(text)?;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for key in section {
        let Some(item) = table.get_mut(key) else { break };
        if is_empty_list(item) {
            let decor = item.as_value().map(|list| list.decor().clone()).unwrap_or_default();
            let mut empty = TomlValue::InlineTable(InlineTable::new());
            *empty.decor_mut() = decor;
            *item = Item::Value(empty);
            return Ok(document.to_string());
        }
        let Some(inner) = item.as_table_like_mut() else { break };
        table = inner;
    }
    Ok(text.to_owned())
}

fn is_empty_list(item: &Item) -> bool {
    item.as_array().is_some_and(Array::is_empty)
}

/// Adds our entry, and `section` where it is absent.
pub(super) fn insert(text: &str, section: &[String], entry: &Value) -> Result<String, String> {
    let mut document = parse(text)?;
    if !document.contains_key(&section[0]) {
        // Appending text leaves comments at the end of the file where they are.
        let gap = if text.trim().is_empty() { "" } else { "\n" };
        let line_end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return Ok(format!("{text}{line_end}{gap}{}\n", toml_text(section, entry)));
    }
    let mut table: &mut dyn TableLike = document.as_table_mut();
    let mut is_inline = false;
    for key in section {
        let item = table.entry(key).or_insert_with(|| {
            let mut created = Table::new();
            created.set_implicit(true);
            Item::Table(created)
        });
        is_inline = item.is_inline_table();
        table = item.as_table_like_mut().ok_or_else(|| format!("`{key}` is not a table"))?;
    }
    table.insert(SERVER_NAME, item(entry, is_inline));
    Ok(document.to_string())
}

/// Replaces the value of our entry.
pub(super) fn replace(text: &str, section: &[String], entry: &Value) -> Result<String, String> {
    let mut document = parse(text)?;
    let Some(table) = table_mut(&mut document, section) else { return Err("the entry is gone".to_owned()) };
    let found = table.get_mut(SERVER_NAME).ok_or("the entry is gone")?;
    match (item(entry, found.is_inline_table()), found) {
        (Item::Table(new), Item::Table(old)) => {
            // In place, to keep the comments above the header and its position.
            old.clear();
            for (key, value) in new {
                old.insert(&key, value);
            }
        }
        (new, old) => *old = new,
    }
    Ok(document.to_string())
}

/// Removes our entry, and those of the innermost `created` levels of `section` that are then empty.
pub(super) fn remove(text: &str, section: &[String], created: usize) -> Result<String, String> {
    let mut document = parse(text)?;
    if let Some(table) = table_mut(&mut document, section) {
        table.remove(SERVER_NAME);
    }
    for depth in (section.len().saturating_sub(created)..section.len()).rev() {
        let Some(parent) = table_mut(&mut document, &section[..depth]) else { break };
        let empty = parent.get(&section[depth]).and_then(Item::as_table_like).is_some_and(|it| it.is_empty());
        if !empty {
            break;
        }
        parent.remove(&section[depth]);
    }
    Ok(document.to_string())
}

fn parse(text: &str) -> Result<DocumentMut, String> {
    text.parse::<DocumentMut>().map_err(invalid)
}

fn invalid(error: impl std::fmt::Display) -> String {
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().filter(|line| !line.contains('|')).map(str::trim).collect();
    format!("it is not valid TOML: {}", lines.join(", "))
}

fn table_mut<'a>(document: &'a mut DocumentMut, section: &[String]) -> Option<&'a mut dyn TableLike> {
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for key in section {
        table = table.get_mut(key)?.as_table_like_mut()?;
    }
    Some(table)
}

/// Returns our entry as a table of its own, or as an inline table within one.
fn item(entry: &Value, inline: bool) -> Item {
    let fields = entry.as_object().into_iter().flatten();
    if inline {
        return Item::Value(toml_value(entry));
    }
    let mut table = Table::new();
    for (key, value) in fields {
        table.insert(key, Item::Value(toml_value(value)));
    }
    Item::Table(table)
}

fn toml_value(value: &Value) -> TomlValue {
    match value {
        // TOML has no null, and our entries never contain one.
        Value::Null => TomlValue::from(""),
        Value::Bool(flag) => TomlValue::from(*flag),
        Value::Number(number) => number
            .as_i64()
            .map_or_else(|| TomlValue::from(number.as_f64().unwrap_or_default()), TomlValue::from),
        Value::String(text) => TomlValue::from(text.as_str()),
        Value::Array(items) => TomlValue::Array(items.iter().map(toml_value).collect::<Array>()),
        Value::Object(fields) => TomlValue::InlineTable(
            fields.iter().map(|(key, value)| (key.as_str(), toml_value(value))).collect::<InlineTable>(),
        ),
    }
}
