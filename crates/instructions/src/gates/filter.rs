//! Filters of entries: the field `where` of a count.

use crate::document::Fields;
use crate::entry::{Instruction, folded_category, is_id};
use crate::levels::{Audience, Requirement};

/// The limit on distinct texts that a document looks for; one pass over each entry finds them all.
const TEXTS_MAX: usize = 200;
const TEXT_CHARS_MAX: usize = 200;
const DAYS_MAX: i64 = 36_500;
const DAY_MS: i64 = 86_400_000;

/// A condition on an entry: all that is given must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Filter {
    requirement: Option<Requirement>,
    audience: Option<Audience>,
    category: Option<String>,
    id_prefix: Option<String>,
    priority_min: i64,
    priority_max: i64,
    risk_above: Option<i64>,
    deprecated: Option<bool>,
    updated_before_days: Option<i64>,
    /// Index in `Gates::texts` of a text that the entry must contain. The caller tests it last, since it costs most.
    pub(super) text: Option<usize>,
}

impl Filter {
    const FIELDS: [&'static str; 12] = [
        "requirement", "audience", "category", "idPrefix", "priorityGt", "priorityGte", "priorityLt",
        "priorityLte", "riskGt", "deprecated", "updatedBeforeDays", "textContains",
    ];

    /// Reads a filter. `texts` are those that the document looks for; the filter's is added to them, in lower case.
    pub(super) fn read(mut fields: Fields, texts: &mut Vec<String>) -> Result<Self, String> {
        let requirements = Requirement::ALL.map(|requirement| (requirement.as_str(), requirement));
        let audiences = [Audience::Individual, Audience::Group, Audience::All];
        let audiences = audiences.map(|audience| (audience.as_str(), audience));
        let mut bound = |field: &str, offset: i64| -> Result<Option<i64>, String> {
            Ok(fields.integer(field, 0..=100)?.map(|bound| bound + offset))
        };
        let priority_min = bound("priorityGte", 0)?.max(bound("priorityGt", 1)?).unwrap_or(0);
        let priority_max =
            bound("priorityLte", 0)?.unwrap_or(100).min(bound("priorityLt", -1)?.unwrap_or(100));
        let filter = Self {
            requirement: fields.choice("requirement", &requirements)?,
            audience: fields.choice("audience", &audiences)?,
            category: category(&mut fields)?,
            id_prefix: id_prefix(&mut fields)?,
            priority_min,
            priority_max,
            risk_above: fields.integer("riskGt", -1000..=1000)?,
            deprecated: fields.flag("deprecated")?,
            updated_before_days: fields.integer("updatedBeforeDays", 0..=DAYS_MAX)?,
            text: text(&mut fields, texts)?,
        };
        fields.finish(&Self::FIELDS)?;
        Ok(filter)
    }

    /// Checks whether an entry fulfils everything but the text.
    pub(super) fn matches(&self, entry: &Instruction, updated_ms: i64, now_ms: i64) -> bool {
        let priority = i64::from(entry.priority);
        let is_deprecated = entry.requirement == Requirement::Deprecated;
        self.requirement.is_none_or(|requirement| requirement == entry.requirement)
            && self.audience.is_none_or(|audience| audience == entry.audience)
            && (self.priority_min..=self.priority_max).contains(&priority)
            && self.deprecated.is_none_or(|deprecated| deprecated == is_deprecated)
            && self.risk_above.is_none_or(|risk| i64::from(entry.risk_score()) > risk)
            && self
                .updated_before_days
                .is_none_or(|days| updated_ms < now_ms.saturating_sub(days.saturating_mul(DAY_MS)))
            && self.id_prefix.as_ref().is_none_or(|prefix| entry.id.starts_with(prefix))
            && self.category.as_ref().is_none_or(|category| entry.categories.contains(category))
    }
}

/// Returns the index in `texts` of the text that entries must contain.
fn text(fields: &mut Fields, texts: &mut Vec<String>) -> Result<Option<usize>, String> {
    let Some(text) = fields.text("textContains")? else { return Ok(None) };
    if text.trim().is_empty() || text.chars().count() > TEXT_CHARS_MAX {
        return Err(fields.error(&format!(
            "`textContains` must be a text of 1 to {TEXT_CHARS_MAX} characters, not all blank."
        )));
    }
    let text = text.to_lowercase();
    if let Some(known) = texts.iter().position(|known| *known == text) {
        return Ok(Some(known));
    }
    if texts.len() == TEXTS_MAX {
        let message = format!("the document has more than {TEXTS_MAX} different texts in `textContains`.");
        return Err(fields.error(&message));
    }
    texts.push(text);
    Ok(Some(texts.len() - 1))
}

fn category(fields: &mut Fields) -> Result<Option<String>, String> {
    let category = fields.text("category")?.map(|category| folded_category(&category));
    match category {
        Some(category) if category.is_empty() => Err(fields.error("`category` is empty.")),
        category => Ok(category),
    }
}

fn id_prefix(fields: &mut Fields) -> Result<Option<String>, String> {
    match fields.text("idPrefix")? {
        Some(prefix) if !is_id(&prefix) => Err(fields.error(
            "`idPrefix` must be the beginning of an id: lower-case letters, digits, `-` and `_`, a letter or digit first.",
        )),
        prefix => Ok(prefix),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Rules;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn read(filter: Value) -> Result<(Filter, Vec<String>), String> {
        let mut texts = Vec::new();
        let filter = Filter::read(Fields::new(filter, "Gate \"g\", where".into())?, &mut texts)?;
        Ok((filter, texts))
    }

    fn entry(requirement: &str, priority: u8) -> Instruction {
        let entry = json!({ "id": "sec-keys", "title": "Keys", "body": "x", "priority": priority, "audience": "group",
            "requirement": requirement, "categories": ["security", "git"], "deprecatedBy": "other" });
        Instruction::check(entry, &Rules::default()).unwrap().instruction
    }

    const DAY_10: i64 = 10 * DAY_MS;

    #[test]
    fn each_field_accepts_and_rejects_entries() {
        let mandatory = entry("mandatory", 50); // Its risk score is 100.
        for (filter, expected) in [
            (json!({}), true),
            (json!({ "requirement": "mandatory" }), true),
            (json!({ "requirement": "critical" }), false),
            (json!({ "audience": "group" }), true),
            (json!({ "audience": "all" }), false),
            (json!({ "category": " Security " }), true),
            (json!({ "category": "secur" }), false),
            (json!({ "idPrefix": "sec-" }), true),
            (json!({ "idPrefix": "keys" }), false),
            (json!({ "priorityGt": 49 }), true),
            (json!({ "priorityGt": 50 }), false),
            (json!({ "priorityGte": 50 }), true),
            (json!({ "priorityGte": 51 }), false),
            (json!({ "priorityLt": 51 }), true),
            (json!({ "priorityLt": 50 }), false),
            (json!({ "priorityLte": 50 }), true),
            (json!({ "priorityLte": 49 }), false),
            (json!({ "priorityGte": 10, "priorityGt": 50 }), false),
            (json!({ "priorityLte": 90, "priorityLt": 50 }), false),
            (json!({ "riskGt": 99 }), true),
            (json!({ "riskGt": 100 }), false),
            (json!({ "deprecated": false }), true),
            (json!({ "deprecated": true }), false),
            (json!({ "updatedBeforeDays": 6 }), true),
            (json!({ "updatedBeforeDays": 7 }), false),
            (json!({ "requirement": "mandatory", "audience": "all" }), false),
        ] {
            let (filter_read, _) = read(filter.clone()).unwrap();
            assert_eq!(filter_read.matches(&mandatory, 3 * DAY_MS, DAY_10), expected, "{filter}");
        }
        let deprecated = entry("deprecated", 50);
        assert!(read(json!({ "deprecated": true })).unwrap().0.matches(&deprecated, 0, DAY_10));
    }

    #[test]
    fn each_mistake_is_reported() {
        for (filter, expected) in [
            (json!([]), "Gate \"g\", where must be an object."),
            (json!({ "owner": 1 }), "`owner` is not allowed here; allowed are: requirement, audience"),
            (
                json!({ "requirement": "must" }),
                "`requirement` is \"must\", but must be one of: mandatory, critical",
            ),
            (json!({ "audience": "me" }), "must be one of: individual, group, all."),
            (json!({ "audience": null }), "`audience` must be a text."),
            (json!({ "category": " " }), "`category` is empty."),
            (json!({ "idPrefix": "Sec" }), "`idPrefix` must be the beginning of an id"),
            (json!({ "priorityGt": -1 }), "`priorityGt` must be an integer from 0 to 100."),
            (json!({ "priorityLte": "5" }), "`priorityLte` must be an integer"),
            (json!({ "riskGt": 0.5 }), "`riskGt` must be an integer"),
            (json!({ "deprecated": 1 }), "`deprecated` must be true or false."),
            (
                json!({ "updatedBeforeDays": 36_501 }),
                "`updatedBeforeDays` must be an integer from 0 to 36500.",
            ),
            (json!({ "textContains": "\n " }), "`textContains` must be a text of 1 to 200"),
            (json!({ "textContains": "x".repeat(201) }), "`textContains` must be a text of 1 to 200"),
        ] {
            let error = read(filter.clone()).unwrap_err();
            assert!(error.contains(expected), "{filter}: {error}");
            assert!(error.starts_with("Gate \"g\", where"), "{filter}: {error}");
        }
    }

    #[test]
    fn equal_texts_are_kept_once_and_their_number_is_bounded() {
        let mut texts = Vec::new();
        let mut read = |text: String| {
            let filter = json!({ "textContains": text });
            Filter::read(Fields::new(filter, "g".into()).unwrap(), &mut texts).map(|filter| filter.text)
        };
        assert_eq!(read("Secret".into()), Ok(Some(0)));
        assert_eq!(read("other".into()), Ok(Some(1)));
        assert_eq!(read("SECRET".into()), Ok(Some(0)));
        for number in 2..TEXTS_MAX {
            assert_eq!(read(number.to_string()), Ok(Some(number)));
        }
        assert!(read("one more".into()).unwrap_err().contains("more than 200 different texts"));
        assert_eq!(read("secret".into()), Ok(Some(0)));
    }

    proptest! {
        #[test]
        fn the_bounds_of_the_priority_are_what_their_names_say(
            gt in 0i64..=100, gte in 0i64..=100, lt in 0i64..=100, lte in 0i64..=100, given in 0usize..16, priority in 1u8..=100,
        ) {
            let bounds = [("priorityGt", gt), ("priorityGte", gte), ("priorityLt", lt), ("priorityLte", lte)];
            let bounds = bounds.into_iter().enumerate().filter(|(at, _)| given >> at & 1 == 1).map(|(_, bound)| bound);
            let bounds: Vec<(&str, i64)> = bounds.collect();
            let expected = bounds.iter().all(|(name, bound)| {
                let priority = i64::from(priority);
                match *name {
                    "priorityGt" => priority > *bound,
                    "priorityGte" => priority >= *bound,
                    "priorityLt" => priority < *bound,
                    _ => priority <= *bound,
                }
            });
            let filter = bounds.into_iter().map(|(name, bound)| (name.to_owned(), bound.into())).collect();
            let (filter, _) = read(Value::Object(filter)).unwrap();
            prop_assert_eq!(filter.matches(&entry("optional", priority), 0, 0), expected);
        }
    }
}
