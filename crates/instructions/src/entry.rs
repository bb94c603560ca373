//! An entry of the catalog, and the rules that every entry must follow, wherever it comes from.

use contract::clock::{MILLIS_MAX, iso_from_millis};
use contract::echo;
use jiff::Timestamp;
use platform::sha256;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::canonical::{Hash, canonical_json, normalised_text, parse_hash};
use crate::levels::{Audience, Requirement};
use crate::sent_entry::SentEntry;

/// The only version of the entry format so far.
pub const SCHEMA_VERSION: &str = "1";
/// Longest id.
pub const ID_CHARS_MAX: usize = 120;
const TITLE_CHARS_MAX: usize = 200;
const RATIONALE_BYTES_MAX: usize = 4096;
pub(crate) const CATEGORIES_MAX: usize = 32;
pub(crate) const CATEGORY_CHARS_MAX: usize = 255;

/// Limits that an operator sets.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// Maximum length of a body in bytes.
    pub body_bytes_max: usize,
    /// Maximum number of entries of a project.
    pub entries_max: usize,
    /// Maximum size of all texts of a project together, in bytes.
    pub catalog_bytes_max: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Self { body_bytes_max: 64 << 10, entries_max: 10_000, catalog_bytes_max: 64 << 20 }
    }
}

/// The authored fields of an instruction, checked by [`Instruction::check`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// Unique within the catalog: `^[a-z0-9][a-z0-9_-]{0,119}$`.
    pub id: String,
    /// Its title, on one line.
    pub title: String,
    /// Its text, Markdown; see [`normalised_text`].
    pub body: String,
    /// The reason why it exists.
    pub rationale: Option<String>,
    /// 1 is the most important, 100 the least.
    pub priority: u8,
    /// Its audience.
    pub audience: Audience,
    /// Its level of obligation.
    pub requirement: Requirement,
    /// Sorted, unique and in lower case.
    pub categories: Vec<String>,
    /// The id of the entry that replaces it.
    pub deprecated_by: Option<String>,
}

/// An entry that follows the rules, and the other data that its sender gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The entry.
    pub instruction: Instruction,
    /// Time of its creation, if its sender gave one; used for a new entry only.
    pub created_ms: Option<i64>,
}

impl Instruction {
    /// Reads an entry and checks it against every rule.
    ///
    /// # Errors
    /// The mistake, as one sentence for the author of the entry.
    pub fn check(entry: Value, rules: &Rules) -> Result<Checked, String> {
        let given = serde_json::from_value::<SentEntry>(entry)
            .map_err(|error| format!("{}.", echo(&error.to_string())))?
            .without_escapes();
        check_version(given.schema_version.as_deref())?;
        let id = checked_id(given.id, "id")?;
        let requirement = Requirement::parse(&given.requirement).ok_or_else(|| {
            unknown("requirement", &given.requirement, &Requirement::ALL.map(Requirement::as_str))
        })?;
        let deprecated_by = given.deprecated_by.map(|id| checked_id(id, "deprecatedBy")).transpose()?;
        if requirement == Requirement::Deprecated && deprecated_by.is_none() {
            return Err(
                "A deprecated entry needs `deprecatedBy`, the id of the entry that replaces it.".into()
            );
        }
        if deprecated_by.as_ref() == Some(&id) {
            return Err("`deprecatedBy` must name another entry.".into());
        }
        let instruction = Self {
            id,
            title: checked_title(&given.title)?,
            body: checked_body(&given.body, rules)?,
            rationale: checked_rationale(given.rationale)?,
            priority: u8::try_from(given.priority)
                .ok()
                .filter(|priority| (1..=100).contains(priority))
                .ok_or_else(|| format!("`priority` is {}, but must be from 1 to 100.", given.priority))?,
            audience: Audience::parse(&given.audience)
                .ok_or_else(|| unknown("audience", &given.audience, &["individual", "group", "all"]))?,
            requirement,
            categories: checked_categories(&given.categories)?,
            deprecated_by,
        };
        if let Some(hash) = given.source_hash {
            let actual = instruction.source_hash();
            if parse_hash(&hash) != Some(actual) {
                return Err(format!(
                    "`sourceHash` is {}, but the body has {}: one was changed without the other. Leave `sourceHash` out if the \
                     body is right.",
                    echo(&hash),
                    sha256::to_hex(&actual)
                ));
            }
        }
        let created_ms = given.created_at.as_deref().map(checked_time).transpose()?;
        Ok(Checked { instruction, created_ms })
    }

    /// Returns the SHA-256 of the body.
    #[must_use]
    pub fn source_hash(&self) -> Hash {
        sha256::digest(self.body.as_bytes())
    }

    /// Returns the SHA-256 of the canonical JSON of all authored fields other than id and body.
    #[must_use]
    pub fn meta_hash(&self) -> Hash {
        let mut fields = Map::new();
        fields.insert("title".into(), self.title.clone().into());
        if let Some(rationale) = &self.rationale {
            fields.insert("rationale".into(), rationale.clone().into());
        }
        fields.insert("priority".into(), self.priority.into());
        fields.insert("audience".into(), self.audience.as_str().into());
        fields.insert("requirement".into(), self.requirement.as_str().into());
        fields.insert("categories".into(), self.categories.clone().into());
        if let Some(id) = &self.deprecated_by {
            fields.insert("deprecatedBy".into(), id.clone().into());
        }
        fields.insert("schemaVersion".into(), SCHEMA_VERSION.into());
        sha256::digest(canonical_json(fields).as_bytes())
    }

    /// Returns the harm that overlooking it does, from −30 to 159.
    #[must_use]
    pub fn risk_score(&self) -> i32 {
        100 - i32::from(self.priority) + self.requirement.risk()
    }

    /// Returns title and body in lower case: the text in which substrings are searched.
    #[must_use]
    pub fn folded(&self) -> String {
        format!("{}\n{}", self.title, self.body).to_lowercase()
    }
}

/// Checks whether a text is a well-formed id.
#[must_use]
pub fn is_id(text: &str) -> bool {
    let allowed =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
    (1..=ID_CHARS_MAX).contains(&text.len()) && text.bytes().all(allowed) && !text.starts_with(['_', '-'])
}

fn checked_id(id: String, field: &str) -> Result<String, String> {
    if is_id(&id) {
        return Ok(id);
    }
    Err(format!(
        "`{field}` is {:?}, but must be 1 to {ID_CHARS_MAX} lower-case letters, digits, `-` and `_`, and begin with a letter or \
         digit.",
        echo(&id)
    ))
}

fn check_version(version: Option<&str>) -> Result<(), String> {
    match version {
        None | Some(SCHEMA_VERSION) => Ok(()),
        Some(version) => Err(format!(
            "unsupported schemaVersion {:?}; this program reads {SCHEMA_VERSION:?}.",
            echo(version)
        )),
    }
}

fn unknown(field: &str, value: &str, known: &[&str]) -> String {
    format!("`{field}` is {:?}, but must be one of: {}.", echo(value), known.join(", "))
}

/// Normalises the title to one line: whitespace of any kind becomes one space.
fn checked_title(title: &str) -> Result<String, String> {
    let title = title.replace('\0', "");
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    match title.chars().count() {
        0 => Err("`title` is empty.".into()),
        1..=TITLE_CHARS_MAX => Ok(title),
        chars => Err(format!("`title` has {chars} characters; at most {TITLE_CHARS_MAX} are allowed.")),
    }
}

fn checked_body(body: &str, rules: &Rules) -> Result<String, String> {
    let body = normalised_text(body);
    if body.is_empty() {
        return Err("`body` is empty.".into());
    }
    if body.len() > rules.body_bytes_max {
        return Err(format!(
            "`body` has {} bytes; at most {} are allowed.",
            body.len(),
            rules.body_bytes_max
        ));
    }
    Ok(body)
}

fn checked_rationale(rationale: Option<String>) -> Result<Option<String>, String> {
    let rationale = rationale.map(|text| normalised_text(&text)).filter(|text| !text.is_empty());
    match &rationale {
        Some(text) if text.len() > RATIONALE_BYTES_MAX => {
            Err(format!("`rationale` has {} bytes; at most {RATIONALE_BYTES_MAX} are allowed.", text.len()))
        }
        _ => Ok(rationale),
    }
}

fn checked_categories(given: &[String]) -> Result<Vec<String>, String> {
    let mut categories = Vec::with_capacity(given.len());
    for category in given {
        let category = folded_category(category);
        match category.chars().count() {
            0 => return Err("`categories` has an empty name.".into()),
            1..=CATEGORY_CHARS_MAX => categories.push(category),
            chars => {
                return Err(format!(
                    "A name in `categories` has {chars} characters; at most {CATEGORY_CHARS_MAX} are allowed."
                ));
            }
        }
    }
    categories.sort();
    categories.dedup();
    if categories.len() > CATEGORIES_MAX {
        return Err(format!(
            "`categories` has {} names; at most {CATEGORIES_MAX} are allowed.",
            categories.len()
        ));
    }
    Ok(categories)
}

/// Normalises a category for storage and comparison.
#[must_use]
pub fn folded_category(category: &str) -> String {
    category.replace('\0', "").split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Parses a time that the database may hold and that can be shown. An archive with another one could not be imported, and the last
/// milliseconds that a text can name cannot be shown.
fn checked_time(text: &str) -> Result<i64, String> {
    let time = text.parse::<Timestamp>().map_err(|_| {
        format!(
            "`createdAt` is {:?}, which is not a time in ISO 8601 such as 2026-01-24T12:34:56Z.",
            echo(text)
        )
    })?;
    let millis = time.as_millisecond();
    if (0..=MILLIS_MAX).contains(&millis) && Timestamp::from_millisecond(millis).is_ok() {
        Ok(millis)
    } else {
        Err(format!("`createdAt` is {:?}, but must be from the years 1970 to 9999.", echo(text)))
    }
}

/// An entry in the catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The authored fields.
    pub instruction: Instruction,
    /// The stored hash of the body; differs from the body's own if the row was changed directly in the database.
    pub source_hash: Hash,
    /// The stored hash of the metadata.
    pub meta_hash: Hash,
    /// Time of creation, milliseconds since the epoch.
    pub created_ms: i64,
    /// Time of the last change.
    pub updated_ms: i64,
}

/// The use of an entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// The number of uses.
    pub count: u64,
    /// Time of the last use, milliseconds since the epoch.
    pub last_ms: i64,
}

/// An entry in answers.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstructionEntry {
    /// Unique id.
    pub id: String,
    /// Title.
    pub title: String,
    /// Text, Markdown.
    pub body: String,
    /// Why it exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
    /// 1 (highest) to 100 (lowest).
    #[schemars(range(min = 1, max = 100))]
    pub priority: u8,
    /// Whom it is for.
    pub audience: Audience,
    /// How binding it is.
    pub requirement: Requirement,
    /// Sorted, in lower case.
    pub categories: Vec<String>,
    /// SHA-256 of the body, hexadecimal.
    pub source_hash: String,
    /// Version of this format.
    pub schema_version: &'static str,
    /// Id of the entry that replaces it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated_by: Option<String>,
    /// When it was created, UTC.
    pub created_at: String,
    /// When it was last changed, UTC.
    pub updated_at: String,
    /// How often it was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage_count: Option<u64>,
    /// When it was last used, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<String>,
    /// How much harm it does to overlook it, −30 to 159.
    pub risk_score: i32,
}

impl InstructionEntry {
    /// Makes the answer for a stored entry.
    #[must_use]
    pub fn new(stored: &Stored, usage: Option<Usage>) -> Self {
        let Instruction {
            id,
            title,
            body,
            rationale,
            priority,
            audience,
            requirement,
            categories,
            deprecated_by,
        } = stored.instruction.clone();
        Self {
            id,
            title,
            body,
            rationale,
            priority,
            audience,
            requirement,
            categories,
            source_hash: sha256::to_hex(&stored.source_hash),
            schema_version: SCHEMA_VERSION,
            deprecated_by,
            created_at: iso_from_millis(stored.created_ms),
            updated_at: iso_from_millis(stored.updated_ms),
            usage_count: usage.map(|usage| usage.count),
            last_used_at: usage.map(|usage| iso_from_millis(usage.last_ms)),
            risk_score: stored.instruction.risk_score(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry() -> Value {
        json!({ "id": "no-secrets", "title": " Keep\nsecrets out ", "body": "\r\nNever commit keys.\r\n", "priority": 1,
            "audience": "all", "requirement": "critical", "categories": ["Security", "git", "security"] })
    }

    fn with(field: &str, value: Value) -> Result<Checked, String> {
        let mut entry = entry();
        entry[field] = value;
        Instruction::check(entry, &Rules::default())
    }

    #[test]
    fn an_entry_is_normalised_and_hashed() {
        let Checked { instruction, created_ms } = Instruction::check(entry(), &Rules::default()).unwrap();
        assert_eq!(
            (instruction.title.as_str(), instruction.body.as_str()),
            ("Keep secrets out", "Never commit keys.")
        );
        assert_eq!(instruction.categories, ["git", "security"]);
        assert_eq!((instruction.risk_score(), created_ms), (159, None));
        let hash = sha256::digest_hex(b"Never commit keys.");
        assert_eq!(sha256::to_hex(&instruction.source_hash()), hash);
        let meta = r#"{"audience":"all","categories":["git","security"],"priority":1,"requirement":"critical","schemaVersion":"1","title":"Keep secrets out"}"#;
        assert_eq!(instruction.meta_hash(), sha256::digest(meta.as_bytes()));
        assert!(with("sourceHash", hash.to_uppercase().into()).is_ok());
    }

    #[test]
    fn what_the_server_says_is_accepted_and_ignored() {
        let stored = Stored {
            instruction: Instruction::check(entry(), &Rules::default()).unwrap().instruction,
            source_hash: [0; 32],
            meta_hash: [1; 32],
            created_ms: 1_000,
            updated_ms: 2_000,
        };
        let usage = Some(Usage { count: 3, last_ms: 4_000 });
        let mut sent_back = serde_json::to_value(InstructionEntry::new(&stored, usage)).unwrap();
        sent_back["sourceHash"] = Value::Null;
        let checked = Instruction::check(sent_back, &Rules::default()).unwrap();
        assert_eq!(checked, Checked { instruction: stored.instruction, created_ms: Some(1_000) });
    }

    #[test]
    fn a_time_of_creation_is_one_that_is_stored() {
        let created = |text: &str| with("createdAt", text.into()).unwrap().created_ms;
        assert_eq!(created("1970-01-01T00:00:00Z"), Some(0));
        let last = created("9999-12-30T22:00:00Z").unwrap();
        assert_eq!((iso_from_millis(last).as_str(), last <= MILLIS_MAX), ("9999-12-30T22:00:00.000Z", true));
    }

    #[test]
    fn each_violated_rule_is_reported() {
        for (field, value, expected) in [
            ("id", json!("../x"), "`id` is"),
            ("id", json!("-x"), "`id` is"),
            ("id", json!("x".repeat(121)), "`id` is"),
            ("title", json!(" \n"), "`title` is empty"),
            ("title", json!("x".repeat(201)), "201 characters"),
            ("body", json!("\n \n"), "`body` is empty"),
            ("body", json!("x".repeat(65_537)), "65537 bytes"),
            ("rationale", json!("x".repeat(4097)), "4097 bytes"),
            ("priority", json!(0), "from 1 to 100"),
            ("priority", json!(101), "from 1 to 100"),
            ("audience", json!("me"), "individual, group, all"),
            ("requirement", json!("must"), "mandatory, critical"),
            ("requirement", json!("deprecated"), "needs `deprecatedBy`"),
            ("deprecatedBy", json!("no-secrets"), "another entry"),
            ("deprecatedBy", json!("A"), "`deprecatedBy` is"),
            ("categories", json!([""]), "empty name"),
            ("categories", json!(["x".repeat(256)]), "256 characters"),
            ("categories", json!((0..33).map(|n| n.to_string()).collect::<Vec<_>>()), "33 names"),
            ("schemaVersion", json!("2"), "unsupported schemaVersion"),
            ("sourceHash", json!("00"), "one was changed without the other"),
            ("createdAt", json!("yesterday"), "not a time"),
            ("createdAt", json!("1969-12-31T23:59:59.999Z"), "from the years 1970 to 9999"),
            ("createdAt", json!("9999-12-30T22:00:00.999Z"), "from the years 1970 to 9999"),
            ("createdAt", json!("-009999-01-03T00:00:00Z"), "from the years 1970 to 9999"),
            ("owner", json!("me"), "unknown field `owner`"),
        ] {
            let error = with(field, value.clone()).unwrap_err();
            assert!(error.contains(expected), "{field} {value}: {error}");
        }
        let missing = Instruction::check(json!({ "id": "a" }), &Rules::default()).unwrap_err();
        assert!(missing.contains("missing field `title`"), "{missing}");
        assert!(Instruction::check(json!(1), &Rules::default()).is_err());
    }
}
