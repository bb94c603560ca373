//! Front matter of new pages, modelled on that of neighbouring pages.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::forms::{FrontMatterStyle, PlanPage};
use crate::gate::{FrontMatterContract, KeyType};
use crate::prose::DESCRIPTION_KEYS;
use crate::site::FrontMatterFormat;

/// The data of a page from which its front matter is written.
#[derive(Debug, Clone, Copy)]
pub struct FieldsOfPage<'a> {
    /// Its title.
    pub title: &'a str,
    /// Its description: a claim that it makes, as [`crate::prose::description`] writes it.
    pub description: Option<&'a str>,
    /// Its place among the pages of its section, from 1.
    pub position: u32,
}

/// Keys of the same meaning.
const TITLES: &[&str] = &["title", "linkTitle", "linktitle", "sidebar_label", "nav_title", "heading"];
const POSITIONS: &[&str] = &["weight", "order", "nav_order", "sidebar_position", "position"];
const DATES: &[&str] = &["date", "lastmod", "last_updated", "updated", "publishDate"];
/// Distance between the positions of two pages, so that others fit between them.
const POSITION_STEP: u32 = 10;

/// The fields of a page; those that the contract requires, and a title.
///
/// # Errors
/// The first required key without a known value.
pub fn fields(
    contract: &FrontMatterContract,
    style: &FrontMatterStyle,
    page: FieldsOfPage<'_>,
) -> Result<BTreeMap<String, Value>, String> {
    let mut fields = BTreeMap::new();
    if style.format.is_none() {
        return Ok(fields);
    }
    fields.insert("title".to_owned(), Value::from(page.title));
    for (key, kind) in &contract.required {
        // Descriptions of other pages do not fit this one.
        let is_shared = |value: &&Value| !(value.is_string() && DESCRIPTION_KEYS.contains(&key.as_str()));
        let shared = || style.shared.get(key).filter(is_shared).cloned();
        let value = known(key, *kind, style, page).or_else(shared);
        let value = value.filter(|value| style.format != Some(FrontMatterFormat::Toml) || is_simple(value));
        fields.insert(key.clone(), value.ok_or_else(|| key.clone())?);
    }
    Ok(fields)
}

/// Merges the fields of an existing page with `wanted` ones that it lacks. Existing values are kept, except those that follow from the page
/// itself: its title, and its description, which must be a claim of it.
#[must_use]
pub fn kept_fields(
    wanted: BTreeMap<String, Value>,
    now: &Map<String, Value>,
    page: &PlanPage,
    description: Option<String>,
) -> BTreeMap<String, Value> {
    let mut fields = wanted;
    for (key, value) in now {
        let value = match value {
            Value::String(_) if TITLES.contains(&key.as_str()) => Some(page.title.as_str().into()),
            Value::String(_) if DESCRIPTION_KEYS.contains(&key.as_str()) => {
                description.clone().map(Value::from)
            }
            value => Some(value.clone()),
        };
        // A description without a claim is dropped, unless the site requires one.
        fields.extend(value.map(|value| (key.clone(), value)));
    }
    fields
}

/// The value of a key whose meaning is known.
fn known(key: &str, kind: KeyType, style: &FrontMatterStyle, page: FieldsOfPage<'_>) -> Option<Value> {
    match kind {
        KeyType::String if TITLES.contains(&key) => Some(page.title.into()),
        KeyType::String if DESCRIPTION_KEYS.contains(&key) => page.description.map(Value::from),
        KeyType::Integer | KeyType::Number if POSITIONS.contains(&key) => {
            Some(page.position.saturating_mul(POSITION_STEP).into())
        }
        KeyType::Boolean if key == "draft" => Some(false.into()),
        KeyType::Date if DATES.contains(&key) => style.date.clone().map(Value::from),
        _ => None,
    }
}

/// Returns `true` if both formats write a value in the same way.
fn is_simple(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(Value::is_string),
        Value::Object(_) | Value::Null => false,
        Value::String(_) | Value::Number(_) | Value::Bool(_) => true,
    }
}

/// Writes fields as front matter between its delimiters. Values are written as JSON, which YAML contains; TOML reads simple ones, too.
#[must_use]
pub fn front_matter(format: FrontMatterFormat, fields: &BTreeMap<String, Value>) -> String {
    let delimiter = delimiter(format);
    // The title comes first, as people write it.
    let title = fields.iter().filter(|(key, _)| *key == "title");
    let rest = fields.iter().filter(|(key, _)| *key != "title");
    let lines: String = title.chain(rest).map(|(key, value)| field_line(format, key, value)).collect();
    format!("{delimiter}\n{lines}{delimiter}\n")
}

/// The line before front matter and after it.
pub(crate) fn delimiter(format: FrontMatterFormat) -> &'static str {
    match format {
        FrontMatterFormat::Yaml => "---",
        FrontMatterFormat::Toml => "+++",
    }
}

/// The line of a field.
pub(crate) fn field_line(format: FrontMatterFormat, key: &str, value: &Value) -> String {
    let is_bare = key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
        && key.starts_with(|c: char| c.is_ascii_alphabetic());
    let key = if is_bare { key.to_owned() } else { Value::from(key).to_string() };
    match format {
        FrontMatterFormat::Yaml => format!("{key}: {value}\n"),
        FrontMatterFormat::Toml => format!("{key} = {value}\n"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::gate::discover_contract;
    use crate::site::Page;

    fn style(format: FrontMatterFormat) -> FrontMatterStyle {
        FrontMatterStyle {
            format: Some(format),
            shared: BTreeMap::from([("type".to_owned(), json!("docs"))]),
            date: Some("2026-01-31".to_owned()),
        }
    }

    fn contract(keys: &[(&str, KeyType)]) -> FrontMatterContract {
        let required = keys.iter().map(|(key, kind)| ((*key).to_owned(), *kind)).collect();
        FrontMatterContract { required, ..FrontMatterContract::default() }
    }

    const PAGE: FieldsOfPage<'_> =
        FieldsOfPage { title: "Start: \"now\"", description: Some("Reads a."), position: 2 };

    #[test]
    fn both_formats_read_back() {
        let keys = [
            ("title", KeyType::String),
            ("description", KeyType::String),
            ("weight", KeyType::Integer),
            ("draft", KeyType::Boolean),
            ("date", KeyType::Date),
            ("type", KeyType::String),
        ];
        for format in [FrontMatterFormat::Yaml, FrontMatterFormat::Toml] {
            let fields = fields(&contract(&keys), &style(format), PAGE).unwrap();
            let text = format!("{}\nText.\n", front_matter(format, &fields));
            let page = Page::parse("a.md", text, 100);
            let read = page.front_matter.fields().unwrap_or_else(|| panic!("{}", page.text));
            assert_eq!(read.len(), keys.len(), "{read:?}");
            assert_eq!(page.title(), Some(PAGE.title));
            assert_eq!(
                (&read["weight"], &read["type"], &read["description"]),
                (&json!(20), &json!("docs"), &json!("Reads a."))
            );
            let of_page = discover_contract(std::iter::once(&page));
            assert_eq!(of_page.required["date"], KeyType::Date);
        }
    }

    #[test]
    fn a_key_without_a_known_value_is_named() {
        let keys = contract(&[("author", KeyType::String)]);
        assert_eq!(fields(&keys, &style(FrontMatterFormat::Yaml), PAGE), Err("author".to_owned()));
        assert_eq!(
            fields(&keys, &FrontMatterStyle::default(), PAGE),
            Ok(BTreeMap::new()),
            "without front matter"
        );
        let mut shared = style(FrontMatterFormat::Yaml);
        shared.shared.insert("summary".to_owned(), json!("The best of all."));
        let page = FieldsOfPage { description: None, ..PAGE };
        let keys = contract(&[("summary", KeyType::String)]);
        assert_eq!(
            fields(&keys, &shared, page),
            Err("summary".to_owned()),
            "no claim of this page proves it"
        );
    }
}
