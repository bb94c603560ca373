//! Reads the catalog's documents, gates and criteria: JSON in which each mistake is an error that names its place.

use std::ops::RangeInclusive;

use contract::{echo, parse_unique};
use serde_json::{Map, Value};

/// Largest document in bytes.
pub(crate) const DOCUMENT_BYTES_MAX: usize = 256 << 10;
const NAME_CHARS_MAX: usize = 120;
const PROSE_CHARS_MAX: usize = 500;

/// Parses a document. `what` names it in errors: `The document of gates`.
pub(crate) fn parse(text: &str, what: &str) -> Result<Value, String> {
    if text.len() > DOCUMENT_BYTES_MAX {
        return Err(format!("{what} has {} bytes; at most {DOCUMENT_BYTES_MAX} are allowed.", text.len()));
    }
    parse_unique(text.as_bytes()).map_err(|error| format!("{what} is not valid JSON: {error}."))
}

/// The fields of an object, taken one by one; [`Fields::finish`] refuses those that were not taken.
#[derive(Debug)]
pub(crate) struct Fields {
    place: String,
    fields: Map<String, Value>,
}

impl Fields {
    /// Takes the fields of `value`, which errors name `place`.
    pub(crate) fn new(value: Value, place: String) -> Result<Self, String> {
        match value {
            Value::Object(fields) => Ok(Self { place, fields }),
            _ => Err(format!("{place} must be an object.")),
        }
    }

    /// Returns the name of this object in errors.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Changes the name of this object in errors, as soon as its id is known.
    pub(crate) fn set_place(&mut self, place: String) {
        self.place = place;
    }

    /// Checks whether the field is present and was not taken yet.
    pub(crate) fn has(&self, field: &str) -> bool {
        self.fields.contains_key(field)
    }

    /// Makes an error about this object.
    pub(crate) fn error(&self, message: &str) -> String {
        format!("{}: {message}", self.place)
    }

    /// Returns the value of a required field.
    pub(crate) fn required<T>(&self, field: &str, value: Option<T>) -> Result<T, String> {
        value.ok_or_else(|| self.error(&format!("`{field}` is missing.")))
    }

    /// Takes any value.
    pub(crate) fn value(&mut self, field: &str) -> Option<Value> {
        self.fields.shift_remove(field)
    }

    /// Takes a text.
    pub(crate) fn text(&mut self, field: &str) -> Result<Option<String>, String> {
        match self.fields.shift_remove(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.error(&format!("`{field}` must be a text."))),
        }
    }

    /// Takes `true` or `false`.
    pub(crate) fn flag(&mut self, field: &str) -> Result<Option<bool>, String> {
        match self.fields.shift_remove(field) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(_) => Err(self.error(&format!("`{field}` must be true or false."))),
        }
    }

    /// Takes an integer in a range.
    pub(crate) fn integer(&mut self, field: &str, range: RangeInclusive<i64>) -> Result<Option<i64>, String> {
        let Some(value) = self.fields.shift_remove(field) else { return Ok(None) };
        match value.as_i64().filter(|number| range.contains(number)) {
            Some(number) => Ok(Some(number)),
            None => Err(self.error(&format!(
                "`{field}` must be an integer from {} to {}.",
                range.start(),
                range.end()
            ))),
        }
    }

    /// Takes a list, which may be empty.
    pub(crate) fn list(&mut self, field: &str) -> Result<Option<Vec<Value>>, String> {
        match self.fields.shift_remove(field) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(_) => Err(self.error(&format!("`{field}` must be a list."))),
        }
    }

    /// Takes the value of `choices` that the field names.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        field: &str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, String> {
        let Some(text) = self.text(field)? else { return Ok(None) };
        match choices.iter().find(|(name, _)| *name == text) {
            Some((_, choice)) => Ok(Some(*choice)),
            None => {
                let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
                Err(self.error(&format!(
                    "`{field}` is \"{}\", but must be one of: {}.",
                    echo(&text),
                    names.join(", ")
                )))
            }
        }
    }

    /// Takes the id of a gate, a rule or a category, which is required.
    pub(crate) fn id(&mut self) -> Result<String, String> {
        let id = self.text("id")?;
        let id = self.required("id", id)?;
        if is_name(&id) {
            return Ok(id);
        }
        Err(self.error(&format!(
            "`id` is \"{}\", but must be 1 to {NAME_CHARS_MAX} letters, digits, `_`, `-`, `.`, `:` and `/` of ASCII, and begin \
             with a letter or digit.",
            echo(&id)
        )))
    }

    /// Takes a text for people that is not blank, if it is present.
    pub(crate) fn prose(&mut self, field: &str) -> Result<Option<String>, String> {
        let Some(text) = self.text(field)? else { return Ok(None) };
        match text.chars().count() {
            _ if text.trim().is_empty() => Err(self.error(&format!("`{field}` is empty."))),
            1..=PROSE_CHARS_MAX => Ok(Some(text)),
            chars => Err(self
                .error(&format!("`{field}` has {chars} characters; at most {PROSE_CHARS_MAX} are allowed."))),
        }
    }

    /// Refuses fields that were not taken. `known` are those that are allowed here.
    pub(crate) fn finish(self, known: &[&str]) -> Result<(), String> {
        match self.fields.keys().next() {
            None => Ok(()),
            Some(field) => Err(self.error(&format!(
                "`{}` is not allowed here; allowed are: {}.",
                echo(field),
                known.join(", ")
            ))),
        }
    }
}

fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':' | b'/');
    (1..=NAME_CHARS_MAX).contains(&text.len())
        && text.bytes().all(allowed)
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn fields(value: Value) -> Fields {
        Fields::new(value, "Here".into()).unwrap()
    }

    #[test]
    fn a_key_that_occurs_twice_is_refused_at_any_depth() {
        for text in [r#"{"a":1,"a":2}"#, r#"[{"b":{"a":1,"\u0061":2}}]"#] {
            let error = parse(text, "The document").unwrap_err();
            assert!(error.contains("an object has the member `a` twice at line 1"), "{error}");
        }
        assert_eq!(parse(r#"[{"a":1},{"a":2}]"#, "The document").unwrap(), json!([{ "a": 1 }, { "a": 2 }]));
    }

    #[test]
    fn a_document_is_bounded() {
        let padded = |bytes: usize| format!("1{}", " ".repeat(bytes - 1));
        assert!(parse(&padded(DOCUMENT_BYTES_MAX), "It").is_ok());
        let error = parse(&padded(DOCUMENT_BYTES_MAX + 1), "It").unwrap_err();
        assert_eq!(error, "It has 262145 bytes; at most 262144 are allowed.");
        assert!(parse(&"[".repeat(100_000), "It").unwrap_err().contains("recursion limit"));
    }

    #[test]
    fn each_kind_of_field_is_checked() {
        let given = json!({ "text": 1, "flag": "true", "number": 1.5, "list": {}, "choice": "c", "id": "a b", "prose": " " });
        let mut fields = fields(given);
        let errors = [
            fields.text("text").unwrap_err(),
            fields.flag("flag").unwrap_err(),
            fields.integer("number", 1..=2).unwrap_err(),
            fields.list("list").unwrap_err(),
            fields.choice("choice", &[("a", 1), ("b", 2)]).unwrap_err(),
            fields.id().unwrap_err(),
            fields.prose("prose").unwrap_err(),
        ];
        let expected = [
            "Here: `text` must be a text.",
            "Here: `flag` must be true or false.",
            "Here: `number` must be an integer from 1 to 2.",
            "Here: `list` must be a list.",
            "Here: `choice` is \"c\", but must be one of: a, b.",
            "Here: `id` is \"a b\", but must be 1 to 120",
            "Here: `prose` is empty.",
        ];
        for (error, expected) in errors.iter().zip(expected) {
            assert!(error.starts_with(expected), "{error}");
        }
        assert!(fields.finish(&[]).is_ok());
    }

    #[test]
    fn null_is_not_an_absent_field() {
        let mut fields = fields(json!({ "text": null }));
        assert!(fields.text("text").is_err());
        assert_eq!(fields.text("other"), Ok(None));
    }

    #[test]
    fn fields_that_were_not_taken_are_refused() {
        let error = fields(json!({ "a\u{202e}": 1 })).finish(&["b", "c"]).unwrap_err();
        assert_eq!(error, "Here: `a\\u{202e}` is not allowed here; allowed are: b, c.");
    }

    proptest! {
        #[test]
        fn every_value_is_read_back(
            keys in prop::collection::btree_set("[a-z]{1,4}", 0..5), number in any::<i64>(), quarters in any::<i32>(),
        ) {
            let fields = json!([number, f64::from(quarters) / 4.0, null, true, "x"]);
            let object: Map<String, Value> = keys.into_iter().map(|key| (key, fields.clone())).collect();
            let value = json!([object, u64::MAX]);
            prop_assert_eq!(parse(&value.to_string(), "It"), Ok(value));
        }
    }
}
