//! JSON Schemas of inputs and outputs, in the plain form every client accepts, and validation by them.

use jsonschema::Validator;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::violation;
use contract::Violation;

/// Schema of `T`: no `$ref`, no titles, no `null` among the types, no number formats.
///
/// Clients differ in what they accept; this is the common part (`type: object` at the root and no
/// root combinators follow from `T` being a struct).
#[must_use]
pub fn of<T: JsonSchema>() -> Map<String, Value> {
    generated::<T>(SchemaSettings::draft2020_12(), Nulls::Absent)
}

/// Schema of what is answered: as [`of`], but a field that always stands there and may be null says so, because clients hold
/// answers against it.
#[must_use]
pub fn of_answer<T: JsonSchema>() -> Map<String, Value> {
    generated::<T>(SchemaSettings::draft2020_12().for_serialize(), Nulls::Kept)
}

fn generated<T: JsonSchema>(settings: SchemaSettings, nulls: Nulls) -> Map<String, Value> {
    let settings = settings.with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    simplify(&mut schema, nulls);
    match schema {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// What becomes of `null` among the types of a schema.
#[derive(Clone, Copy, PartialEq)]
enum Nulls {
    /// A field without a value is left out.
    Absent,
    /// So it is only where the field is not required.
    Kept,
}

fn simplify(schema: &mut Value, nulls: Nulls) {
    match schema {
        Value::Object(object) => {
            object.shift_remove("title");
            if nulls == Nulls::Absent {
                bounded(object);
            }
            if object
                .get("format")
                .and_then(Value::as_str)
                .is_some_and(|f| f.contains("int") || f.contains("float") || f.contains("double"))
            {
                object.shift_remove("format");
            }
            if object.get("default").is_some_and(Value::is_null) {
                object.shift_remove("default");
            }
            if nulls == Nulls::Absent {
                without_null(object);
            }
            constants_to_enum(object);
            if nulls == Nulls::Kept {
                optional_fields_without_null(object);
            }
            for (key, value) in object.iter_mut() {
                if key != "default" && key != "const" && key != "enum" {
                    simplify(value, nulls);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| simplify(item, nulls)),
        _ => {}
    }
}

/// Integers say what they hold at most, so that a larger one is told the bound rather than that it could not be read.
fn bounded(object: &mut Map<String, Value>) {
    let (least, most): (i64, i64) = match object.get("format").and_then(Value::as_str) {
        Some("int64" | "int") => (i64::MIN, i64::MAX),
        Some("uint64" | "uint") => (0, i64::MAX),
        Some("int32") => (i32::MIN.into(), i32::MAX.into()),
        Some("uint32") => (0, u32::MAX.into()),
        _ => return,
    };
    object.entry("minimum").or_insert_with(|| least.into());
    object.entry("maximum").or_insert_with(|| most.into());
}

/// Fields that are left out when they have no value are never null.
fn optional_fields_without_null(object: &mut Map<String, Value>) {
    let required = object.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(fields)) = object.get_mut("properties") else { return };
    for (name, field) in fields.iter_mut() {
        if let Value::Object(field) = field
            && required.iter().all(|required| required != name)
        {
            without_null(field);
        }
    }
}

/// A choice of described constants is an enum for clients; the field's own description says what they mean.
fn constants_to_enum(object: &mut Map<String, Value>) {
    let Some(Value::Array(options)) = object.get("oneOf") else { return };
    let constants: Option<Vec<Value>> =
        options.iter().map(|option| option.get("const").filter(|c| c.is_string()).cloned()).collect();
    if let Some(constants) = constants {
        object.shift_remove("oneOf");
        object.entry("type").or_insert_with(|| "string".into());
        object.insert("enum".into(), Value::Array(constants));
    }
}

/// Optional fields are simply absent; `null` is accepted by dropping it before validation.
fn without_null(object: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|t| t != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(options)) = object.get_mut("enum") {
        options.retain(|option| !option.is_null());
    }
    if let Some(Value::Array(options)) = object.get_mut("anyOf") {
        options.retain(|option| option.get("type").is_none_or(|t| t != "null"));
        if options.len() == 1
            && let Some(Value::Object(only)) = options.pop()
        {
            object.shift_remove("anyOf");
            for (key, value) in only {
                object.entry(key).or_insert(value);
            }
        }
    }
}

/// An object whose fields another tool's schema describes, so that the list does not say it twice.
pub(super) fn object(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "object" })
}

/// The envelope around `result`, as an output schema: it admits the failure envelope too, because
/// some clients validate error results as well.
#[must_use]
pub fn envelope(result: Map<String, Value>) -> Map<String, Value> {
    let schema = json!({
        "type": "object",
        "properties": {
            "ok": { "type": "boolean" },
            "result": result,
            "error": {
                "type": "object",
                "properties": {
                    "code": { "type": "string" }, "message": { "type": "string" },
                    "retryable": { "type": "boolean" }, "hint": { "type": "string" }, "details": {}
                },
                "required": ["code", "message", "retryable"]
            },
            "_meta": { "type": "object" }
        },
        "required": ["ok", "_meta"]
    });
    match schema {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// Rules of values that a model needs no schema for: a description says what they come to, and calls are checked against
/// the whole schema in any case.
const LENGTHS: [&str; 5] = ["minLength", "maxLength", "pattern", "minItems", "maxItems"];

/// An input schema as lists of tools show it: every field with its type and its words, without rules of length and
/// patterns. Clients put the whole list before a model, which pays for each word.
#[must_use]
pub fn listed(mut schema: Map<String, Value>) -> Map<String, Value> {
    fn strip(field: &mut Value) {
        let Value::Object(rules) = field else { return };
        rules.retain(|word, value| {
            let anything = word == "additionalProperties" && *value == true;
            let least = word == "minimum" && value.as_f64().is_some_and(|least| least <= 1.0);
            let most = word == "maximum" && value.as_f64().is_some_and(|most| most >= f64::from(i32::MAX));
            let length = LENGTHS.contains(&word.as_str());
            !(anything || least || most || length)
        });
        if let Some(items) = rules.get_mut("items") {
            strip(items);
        }
    }
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        fields.values_mut().for_each(strip);
    }
    schema
}

/// Fields inside fields that a listed output schema still shows: the envelope's, the result's, those of its lists.
const TERSE_DEPTH_MAX: usize = 2;

/// The same output schema without descriptions and details. Clients put the whole tool list before a
/// model, and the fields of an answer explain themselves there; `contracts/` and `GET /tools` keep them.
#[must_use]
pub fn terse(mut schema: Map<String, Value>) -> Map<String, Value> {
    fn strip(value: &mut Value, depth: usize) {
        match value {
            Value::Object(object) => {
                if depth >= TERSE_DEPTH_MAX && object.get("type").is_some_and(|kind| kind == "object") {
                    object.retain(|word, _| word == "type");
                }
                for word in ["description", "required", "minimum", "enum"] {
                    // Under `properties` these are names of fields, whose schemas are objects.
                    if object.get(word).is_some_and(|value| !value.is_object()) {
                        object.shift_remove(word);
                    }
                }
                for (word, inner) in object.iter_mut() {
                    match inner {
                        Value::Object(fields) if word == "properties" => {
                            fields.values_mut().for_each(|field| strip(field, depth + 1));
                        }
                        // A list's elements count as its fields: they are what the list is for.
                        inner => strip(inner, if word == "items" { depth.saturating_sub(1) } else { depth }),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| strip(item, depth)),
            _ => {}
        }
    }
    // The error is the same for every tool, and says what it is.
    if let Some(error) = schema.get_mut("properties").and_then(|fields| fields.get_mut("error")) {
        *error = json!({ "type": "object" });
    }
    let mut root = Value::Object(std::mem::take(&mut schema));
    strip(&mut root, 0);
    match root {
        Value::Object(schema) => schema,
        _ => schema,
    }
}

/// An input schema compiled for checking.
pub struct InputSchema {
    validator: Validator,
    fields: Vec<String>,
}

impl InputSchema {
    /// Compiles `schema`. The rule of `project_id` is left out: it has an error code of its own
    /// (M: `VALIDATION_ERROR`), given where the id is parsed.
    ///
    /// # Errors
    /// The schema itself is malformed, which is a defect of the list.
    pub fn compile(mut schema: Map<String, Value>) -> Result<Self, String> {
        let mut fields = Vec::new();
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            if let Some(Value::Object(project_id)) = properties.get_mut("project_id") {
                for rule in ["pattern", "minLength", "maxLength"] {
                    project_id.shift_remove(rule);
                }
            }
            fields = properties.keys().cloned().collect();
        }
        let validator = jsonschema::validator_for(&Value::Object(schema)).map_err(|e| e.to_string())?;
        Ok(Self { validator, fields })
    }

    /// All broken rules; empty when the arguments fit.
    #[must_use]
    pub fn violations(&self, arguments: &Value) -> Vec<Violation> {
        self.validator
            .iter_errors(arguments)
            .flat_map(|error| violation::explain(&error, &self.fields))
            .collect()
    }
}

/// Longer words are near to none: comparing takes time in their length.
const NEAREST_BYTES_MAX: usize = 256;

/// The known word nearest to `word`, if one is near enough to be what was meant.
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['_', '-'], "");
    if word.len() > NEAREST_BYTES_MAX {
        return None;
    }
    let word = plain(word);
    known
        .map(|candidate| (strsim::jaro_winkler(&word, &plain(candidate)), candidate))
        .filter(|(similarity, _)| *similarity >= 0.82)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only the schema is looked at")]
    struct Sample {
        /// What to ask.
        query: String,
        repo_path: Option<String>,
        #[schemars(range(min = 1, max = 50))]
        limit: Option<u32>,
        id: Option<i64>,
        #[schemars(regex(pattern = r"^[a-z]+$"))]
        project_id: Option<String>,
    }

    #[test]
    fn schemas_are_plain() {
        let schema = Value::Object(of::<Sample>());
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(schema["properties"]["repo_path"], json!({ "type": "string" }));
        assert_eq!(schema["properties"]["limit"], json!({ "type": "integer", "minimum": 1, "maximum": 50 }));
        let id = json!({ "type": "integer", "minimum": i64::MIN, "maximum": i64::MAX });
        assert_eq!(schema["properties"]["id"], id);
        assert_eq!(schema["required"], json!(["query"]));
        assert!(schema["properties"]["project_id"]["pattern"].is_string());
    }

    #[test]
    fn a_list_shows_fields_without_rules_of_length() {
        let shown = Value::Object(listed(of::<Sample>()));
        assert_eq!(shown["properties"]["project_id"], json!({ "type": "string" }));
        assert_eq!(shown["properties"]["id"], json!({ "type": "integer" }));
        assert_eq!(shown["properties"]["limit"], json!({ "type": "integer", "maximum": 50 }));
        assert_eq!(shown["properties"]["query"]["description"], "What to ask.");
        assert_eq!((&shown["required"], &shown["additionalProperties"]), (&json!(["query"]), &json!(false)));
    }

    #[test]
    fn violations_name_the_nearest_field() {
        let schema = InputSchema::compile(of::<Sample>()).unwrap();
        let broken = schema.violations(&json!({ "query": "x", "repoPath": "/x", "zzz": 1, "limit": 51 }));
        let messages: Vec<&str> = broken.iter().map(|v| v.message.as_str()).collect();
        assert_eq!(broken.len(), 3, "{messages:?}");
        assert!(messages.iter().any(|m| m.contains("did you mean `repo_path`")), "{messages:?}");
        assert!(messages.iter().any(|m| m.contains("`limit`")), "{messages:?}");
        assert!(schema.violations(&json!({})).iter().any(|v| v.keyword == "required"));
        assert!(schema.violations(&json!({ "query": "x", "project_id": "Not_Ok" })).is_empty());
    }
}
