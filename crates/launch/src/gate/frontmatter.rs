//! Gate `frontmatter`: front matter can be parsed and has the keys that pages of its section have.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Checked, Found, Gate, GateInput};
use crate::issue::{Rule, Severity, quote};
use crate::pattern::pattern;
use crate::site::{FrontMatter, Page};

pub(super) const GATE: Gate = Gate {
    name: "frontmatter",
    about: "Front matter can be read and has what pages of its section have.",
    rules: &[BROKEN, MISSING_KEY, WRONG_TYPE],
    check,
};

const BROKEN: Rule = Rule::new("broken_front_matter", "The front matter cannot be read");
const MISSING_KEY: Rule = Rule::fixable("missing_key", "A key of the front matter is missing");
const WRONG_TYPE: Rule =
    Rule::fixable("wrong_type", "A value of the front matter has another type than elsewhere");

/// Maximum number of pages from which a contract is derived.
const SAMPLE_MAX: usize = 50;
/// Fewest pages from which a contract is derived if none was declared.
const SAMPLE_MIN: usize = 5;
/// A key is required if this part of the pages has it.
const REQUIRED_SHARE: (usize, usize) = (9, 10);
/// Maximum number of keys of a contract.
const KEYS_MAX: usize = 200;

/// The type of a value in front matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyType {
    /// A text.
    String,
    /// A whole number.
    Integer,
    /// Another number.
    Number,
    /// True or false.
    Boolean,
    /// A date, with or without a time.
    Date,
    /// A list of texts.
    ArrayString,
    /// A mapping.
    Object,
    /// Different types on different pages, or another one.
    Unknown,
}

impl KeyType {
    /// The type of a value.
    #[must_use]
    pub fn of(value: &Value) -> Self {
        static DATE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?$"));
        match value {
            Value::String(text) if DATE.is_match(text) => Self::Date,
            Value::String(_) => Self::String,
            Value::Number(number) if number.is_f64() => Self::Number,
            Value::Number(_) => Self::Integer,
            Value::Bool(_) => Self::Boolean,
            Value::Array(items) if items.iter().all(Value::is_string) => Self::ArrayString,
            Value::Object(_) => Self::Object,
            Value::Array(_) | Value::Null => Self::Unknown,
        }
    }

    /// Returns `true` if a value of type `other` is also one of this type.
    fn admits(self, other: Self) -> bool {
        self == other
            || self == Self::Unknown
            || matches!((self, other), (Self::String, Self::Date) | (Self::Number, Self::Integer))
    }
}

/// What the front matter of a section's pages has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrontMatterContract {
    /// Number of pages that it was read from.
    pub sample_size: u32,
    /// Keys that nearly all pages have, with the types of their values.
    pub required: BTreeMap<String, KeyType>,
    /// Other keys.
    pub optional: BTreeMap<String, KeyType>,
}

/// Derives the contract that the first 50 pages of a section keep.
#[must_use]
pub fn discover_contract<'p>(pages: impl Iterator<Item = &'p Page>) -> FrontMatterContract {
    let mut keys: BTreeMap<&str, (usize, KeyType)> = BTreeMap::new();
    let mut sample = 0;
    for fields in pages.filter_map(|page| page.front_matter.fields()).take(SAMPLE_MAX) {
        sample += 1;
        for (key, value) in fields {
            let of_value = KeyType::of(value);
            if keys.len() >= KEYS_MAX && !keys.contains_key(key.as_str()) {
                continue;
            }
            let (count, known) = keys.entry(key).or_insert((0, of_value));
            *count += 1;
            *known = match (*known, of_value) {
                (known, of_value) if known.admits(of_value) => known,
                (known, of_value) if of_value.admits(known) => of_value,
                _ => KeyType::Unknown,
            };
        }
    }
    let mut contract =
        FrontMatterContract { sample_size: u32::try_from(sample).unwrap_or(u32::MAX), ..Default::default() };
    for (key, (count, of_value)) in keys {
        let is_required = count * REQUIRED_SHARE.1 >= sample * REQUIRED_SHARE.0;
        let keys = if is_required { &mut contract.required } else { &mut contract.optional };
        keys.insert(key.to_owned(), of_value);
    }
    contract
}

fn check(input: &GateInput<'_>, found: &mut Found) -> Checked {
    let mut any = false;
    for page in input.pages() {
        any |= page.front_matter != FrontMatter::None;
        if let FrontMatter::Broken { reason } = &page.front_matter {
            let severity = input.severity(Severity::Blocker, Severity::Error);
            found.add(
                &BROKEN,
                severity,
                (&page.path, 1),
                "",
                format!("The front matter cannot be read: {reason}."),
            );
        }
    }
    match input.run {
        Some(run) => {
            for page in input.pages() {
                let planned = run.pages.iter().find(|planned| planned.path == page.path);
                let contract = planned.and_then(|planned| run.contracts.get(&planned.section));
                if let Some(contract) = contract {
                    check_page(page, contract, (Severity::Blocker, Severity::Error), found);
                }
            }
        }
        None if any => check_sections(input, found),
        None => return Checked::NotApplicable("no page has front matter"),
    }
    Checked::Done
}

/// Compares the pages of each folder at the root with each other.
fn check_sections(input: &GateInput<'_>, found: &mut Found) {
    let mut sections: BTreeMap<&str, Vec<&Page>> = BTreeMap::new();
    for page in input.pages().filter(|page| !is_index(page)) {
        let section = page.path.split_once('/').map_or("", |(section, _)| section);
        sections.entry(section).or_default().push(page);
    }
    for pages in sections.values() {
        let contract = discover_contract(pages.iter().copied());
        if contract.sample_size as usize >= SAMPLE_MIN {
            for page in pages {
                check_page(page, &contract, (Severity::Warning, Severity::Info), found);
            }
        }
    }
}

/// Returns `true` if a page represents a folder; such pages have front matter of their own kind.
fn is_index(page: &Page) -> bool {
    let name = page.path.rsplit('/').next().unwrap_or(&page.path);
    ["_index.md", "index.md", "README.md"].contains(&name)
}

fn check_page(
    page: &Page,
    contract: &FrontMatterContract,
    (missing, wrong): (Severity, Severity),
    found: &mut Found,
) {
    if matches!(page.front_matter, FrontMatter::Broken { .. }) {
        return;
    }
    let fields = page.front_matter.fields();
    let absent: BTreeSet<&str> = contract
        .required
        .keys()
        .map(String::as_str)
        .filter(|key| !fields.is_some_and(|fields| fields.contains_key(*key)))
        .collect();
    for key in absent {
        let message = format!("The front matter has no {}.", quote(key));
        found.add(&MISSING_KEY, missing, (&page.path, 1), key, message);
    }
    for (key, value) in fields.into_iter().flatten() {
        let expected = contract.required.get(key).or_else(|| contract.optional.get(key));
        if let Some(expected) = expected
            && !expected.admits(KeyType::of(value))
        {
            let (is, expected) = (name_of(KeyType::of(value)), name_of(*expected));
            let message = format!("{} is {is}; on other pages it is {expected}.", quote(key));
            found.add(&WRONG_TYPE, wrong, (&page.path, 1), key, message);
        }
    }
}

fn name_of(of_value: KeyType) -> &'static str {
    match of_value {
        KeyType::String => "a text",
        KeyType::Integer => "a whole number",
        KeyType::Number => "a number",
        KeyType::Boolean => "true or false",
        KeyType::Date => "a date",
        KeyType::ArrayString => "a list of texts",
        KeyType::Object => "a mapping",
        KeyType::Unknown => "something else",
    }
}
