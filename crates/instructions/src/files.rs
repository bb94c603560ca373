//! The catalog as a folder of files: one entry per file, so that git shows the changes of each entry, and `catalog.json`.
//!
//! An entry is Markdown with front matter, or JSON. Keys are in a fixed order, lines end with a line feed, and mere use changes
//! nothing in them: exporting an unchanged catalog again changes no byte.

use contract::clock::iso_from_millis;
use contract::{echo, parse_unique};
use platform::sha256;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::canonical::normalised_text;
use crate::entry::{Instruction, Rules, SCHEMA_VERSION, Stored, is_id};
use crate::levels::{Audience, Requirement};
use crate::yaml;

mod catalog_file;

pub use catalog_file::{CatalogFile, file_hash};

/// Largest file of an entry that is read, in bytes.
pub const ENTRY_FILE_BYTES_MAX: usize = 256 << 10;
/// Largest `catalog.json` that is read, in bytes.
pub const CATALOG_FILE_BYTES_MAX: usize = 16 << 20;
/// Name of the file with the hashes of the catalog.
pub const CATALOG_FILE: &str = "catalog.json";
/// Name of the file with the gates.
pub const GATES_FILE: &str = "gates.json";
/// Name of the file with the review criteria.
pub const CRITERIA_FILE: &str = "criteria.json";
/// JSON files of the folder that are not entries.
const RESERVED: &[&str] = &[CATALOG_FILE, GATES_FILE, CRITERIA_FILE];

/// The form of an entry's file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EntryForm {
    /// Markdown with YAML front matter.
    #[default]
    Markdown,
    /// JSON.
    Json,
}

/// Returns the name of an entry's file. An entry whose JSON file would have the name of another file of the folder, such as
/// `gates.json`, is Markdown in either form.
#[must_use]
pub fn entry_file_name(id: &str, form: EntryForm) -> String {
    let json = format!("{id}.json");
    match form {
        EntryForm::Json if !RESERVED.contains(&json.as_str()) => json,
        _ => format!("{id}.md"),
    }
}

/// Returns the id of the entry that a file with this name holds; `None` if it is not the file of an entry.
#[must_use]
pub fn entry_file_id(name: &str) -> Option<&str> {
    let id = name.strip_suffix(".md").or_else(|| name.strip_suffix(".json"))?;
    (is_id(id) && !RESERVED.contains(&name)).then_some(id)
}

/// Returns the name and text of an entry's file.
#[must_use]
pub fn entry_file_in(form: EntryForm, stored: &Stored) -> (String, String) {
    let name = entry_file_name(&stored.instruction.id, form);
    let text = if name.ends_with(".json") { entry_json(stored) } else { entry_file(stored) };
    (name, text)
}

/// Formats an entry as Markdown with front matter.
///
/// A body with a carriage return, which git and editors may change, is a quoted text in the front matter.
#[must_use]
pub fn entry_file(stored: &Stored) -> String {
    let entry = &stored.instruction;
    let mut lines = vec![
        "---".to_owned(),
        format!("id: {}", yaml::scalar(&entry.id)),
        format!("title: {}", yaml::scalar(&entry.title)),
        format!("priority: {}", entry.priority),
        format!("audience: {}", entry.audience.as_str()),
        format!("requirement: {}", entry.requirement.as_str()),
    ];
    if entry.categories.is_empty() {
        lines.push("categories: []".to_owned());
    } else {
        lines.push("categories:".to_owned());
        lines.extend(entry.categories.iter().map(|category| format!("  - {}", yaml::scalar(category))));
    }
    if let Some(rationale) = &entry.rationale {
        lines.push(format!("rationale: {}", yaml::block_or_scalar(rationale)));
    }
    if let Some(id) = &entry.deprecated_by {
        lines.push(format!("deprecatedBy: {}", yaml::scalar(id)));
    }
    lines.push(format!("schemaVersion: {}", yaml::quoted(SCHEMA_VERSION)));
    lines.push(format!("sourceHash: {}", yaml::quoted(&sha256::to_hex(&stored.source_hash))));
    lines.push(format!("createdAt: {}", yaml::quoted(&iso_from_millis(stored.created_ms))));
    if entry.body.contains('\r') {
        lines.push(format!("body: {}\n---\n", yaml::quoted(&entry.body)));
    } else {
        lines.push(format!("---\n\n{}\n", entry.body));
    }
    lines.join("\n")
}

/// Converts an entry to JSON; the fields are in the order of the front matter, and the body is last.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonEntry<'a> {
    id: &'a str,
    title: &'a str,
    priority: u8,
    audience: Audience,
    requirement: Requirement,
    categories: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    rationale: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deprecated_by: Option<&'a str>,
    schema_version: &'static str,
    source_hash: String,
    created_at: String,
    body: &'a str,
}

/// Formats an entry as JSON.
#[must_use]
pub fn entry_json(stored: &Stored) -> String {
    let entry = &stored.instruction;
    pretty(&JsonEntry {
        id: &entry.id,
        title: &entry.title,
        priority: entry.priority,
        audience: entry.audience,
        requirement: entry.requirement,
        categories: &entry.categories,
        rationale: entry.rationale.as_deref(),
        deprecated_by: entry.deprecated_by.as_deref(),
        schema_version: SCHEMA_VERSION,
        source_hash: sha256::to_hex(&stored.source_hash),
        created_at: iso_from_millis(stored.created_ms),
        body: &entry.body,
    })
}

/// Formats JSON over several lines with one line feed at the end. It cannot fail, because values of this module have text keys only.
fn pretty(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

/// The front matter of an entry. Fields are text where entries have text, so that `title: 2026` is the title "2026".
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct FrontMatter {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    audience: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requirement: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    categories: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rationale: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deprecated_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    // People copy them from answers. Only the server sets them, so they are ignored.
    #[serde(rename = "updatedAt", skip_serializing)]
    _updated_at: Option<IgnoredAny>,
    #[serde(rename = "usageCount", skip_serializing)]
    _usage_count: Option<IgnoredAny>,
    #[serde(rename = "lastUsedAt", skip_serializing)]
    _last_used_at: Option<IgnoredAny>,
    #[serde(rename = "riskScore", skip_serializing)]
    _risk_score: Option<IgnoredAny>,
}

/// Parses the file of an entry; `name` is the file's name without folders. The result is in the form that `import::plan` and
/// `Instruction::check` take, which check the rest.
///
/// # Errors
/// The reasons why the file is not an entry, as sentences for its author.
pub fn parse_entry_file(name: &str, text: &str) -> Result<Value, String> {
    if text.len() > ENTRY_FILE_BYTES_MAX && entry_file_id(name).is_some() {
        return Err(format!(
            "The file has {} bytes; at most {ENTRY_FILE_BYTES_MAX} are allowed.",
            text.len()
        ));
    }
    parse_entry_of_any_size(name, text)
}

/// Returns the entry that a file holds, without the operator's limits; `None` if it is not the valid file of an entry.
#[must_use]
pub fn entry_of_file(name: &str, text: &str) -> Option<Instruction> {
    let entry = parse_entry_of_any_size(name, text).ok()?;
    let rules = Rules { body_bytes_max: usize::MAX, ..Rules::default() };
    Instruction::check(entry, &rules).ok().map(|checked| checked.instruction)
}

fn parse_entry_of_any_size(name: &str, text: &str) -> Result<Value, String> {
    let named = entry_file_id(name).ok_or_else(|| {
        format!(
            "{} is not the name of an entry's file, which is the entry's id and `.md` or `.json`.",
            yaml::quoted_in_message(name)
        )
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let entry = if name.ends_with(".json") { parse_json(text)? } else { parse_markdown(text)? };
    match entry["id"].as_str() {
        Some(id) if id != named => Err(format!(
            "The file is named {:?}, but its entry has the id {:?}: both must be the same.",
            named,
            echo(id)
        )),
        _ => Ok(entry),
    }
}

fn parse_json(text: &str) -> Result<Value, String> {
    match parse_unique(text.as_bytes()) {
        Ok(entry @ Value::Object(_)) => Ok(entry),
        Ok(_) => Err("The file must contain one JSON object.".into()),
        Err(error) => Err(format!("The file is not valid JSON: {}.", echo(&error.to_string()))),
    }
}

fn parse_markdown(text: &str) -> Result<Value, String> {
    let text = text.replace("\r\n", "\n");
    let missing = "The file must begin with front matter: YAML between two lines `---`.";
    let (front_matter, below) = split_front_matter(&text).ok_or(missing)?;
    let mut fields: FrontMatter = yaml::parse(front_matter)?;
    let below = normalised_text(below);
    if fields.body.is_none() {
        fields.body = Some(below);
    } else if !below.is_empty() {
        return Err("The body is given twice: in the front matter and below it.".into());
    }
    serde_json::to_value(fields).map_err(|error| format!("{error}."))
}

/// Splits off the text between the first line and the next line `---`; `None` unless `text` begins with front matter. Lines end with
/// a line feed.
pub(crate) fn split_front_matter(text: &str) -> Option<(&str, &str)> {
    let (first, rest) = text.split_once('\n')?;
    if first.trim_end() != "---" {
        return None;
    }
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((&rest[..end], &rest[end + line.len()..]));
        }
        end += line.len();
    }
    None
}

#[cfg(test)]
mod tests;
