//! Generates the JSON Schemas of tool inputs and outputs, in a form that all clients accept, and validates arguments.

use jsonschema::Validator;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::violation;
use contract::Violation;

/// Generates the schema of `T` without `$ref`, titles, `null` types and number formats.
///
/// Clients support different parts of JSON Schema; this is the common part. `T` must be a struct, so that the root is
/// `type: object` without combinators.
#[must_use]
pub fn generate_schema<T: JsonSchema>() -> Map<String, Value> {
    generate::<T>(SchemaSettings::draft2020_12(), NullTypes::Removed)
}

/// Generates the schema of an answer: as [`generate_schema`], but a required field that may be null keeps its `null` type,
/// because clients validate answers.
#[must_use]
pub fn generate_output_schema<T: JsonSchema>() -> Map<String, Value> {
    generate::<T>(SchemaSettings::draft2020_12().for_serialize(), NullTypes::KeptWhereRequired)
}

fn generate<T: JsonSchema>(settings: SchemaSettings, nulls: NullTypes) -> Map<String, Value> {
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

/// Treatment of `null` types in a schema.
#[derive(Clone, Copy, PartialEq)]
enum NullTypes {
    /// Remove them from every field, because callers omit a field without a value.
    Removed,
    /// Keep them in required fields, which answers always contain.
    KeptWhereRequired,
}

fn simplify(schema: &mut Value, nulls: NullTypes) {
    match schema {
        Value::Object(object) => {
            object.shift_remove("title");
            if nulls == NullTypes::Removed {
                add_integer_bounds(object);
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
            if nulls == NullTypes::Removed {
                remove_null(object);
            }
            constants_to_enum(object);
            if nulls == NullTypes::KeptWhereRequired {
                remove_null_from_optional_fields(object);
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

/// Adds the bounds of the Rust type to integers, so that a violation names the bound. Otherwise serde would reject the number
/// with a less helpful message.
fn add_integer_bounds(object: &mut Map<String, Value>) {
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

/// Removes `null` from optional fields: answers omit a field without a value.
fn remove_null_from_optional_fields(object: &mut Map<String, Value>) {
    let required = object.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(fields)) = object.get_mut("properties") else { return };
    for (name, field) in fields.iter_mut() {
        if let Value::Object(field) = field
            && required.iter().all(|required| required != name)
        {
            remove_null(field);
        }
    }
}

/// Replaces a `oneOf` of constants by an `enum`, which more clients support. Every variant of the Rust enum needs a doc comment:
/// schemars puts those without one into an `enum` of their own inside the `oneOf`, which this function leaves alone.
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

/// Removes `null` from the types of a field. Callers may still send null, because the gate drops it before validation.
fn remove_null(object: &mut Map<String, Value>) {
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

/// The schema of an object without its fields, which another tool's schema describes.
pub fn any_object(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "object" })
}

/// As [`any_object`], for a list of objects.
pub fn any_objects(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "array", "items": { "type": "object" } })
}

/// The output schema of a tool whose result has the schema `result`: the envelope. It also accepts the envelope of a failure,
/// because some clients validate error results as well.
#[must_use]
pub fn envelope_schema(result: Map<String, Value>) -> Map<String, Value> {
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

/// Keywords that lists omit: they cost the model tokens, and calls are validated against the full schema in any case.
const LENGTH_RULES: [&str; 5] = ["minLength", "maxLength", "pattern", "minItems", "maxItems"];

/// Maxima from this number on exclude nearly nothing.
const LISTED_MAXIMUM: f64 = 100_000.0;

/// Shortens an input schema for lists: keeps every field with its type and description, removes length limits, patterns and
/// bounds that exclude nearly nothing. Clients send the whole list to a model, where each word costs tokens.
#[must_use]
pub fn without_length_rules(mut schema: Map<String, Value>) -> Map<String, Value> {
    fn strip(field: &mut Value) {
        let Value::Object(rules) = field else { return };
        rules.retain(|word, value| {
            let anything = word == "additionalProperties" && *value == true;
            let least = word == "minimum" && value.as_f64().is_some_and(|least| least <= 1.0);
            let most = word == "maximum" && value.as_f64().is_some_and(|most| most >= LISTED_MAXIMUM);
            let length = LENGTH_RULES.contains(&word.as_str());
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

/// Depth of nested fields in a listed output schema: those of the envelope, of the result and of the elements of its lists.
const LISTED_DEPTH_MAX: usize = 2;

/// Shortens an output schema for lists: removes deeper fields, descriptions, `required`, `minimum` and `enum`, since the names
/// of the fields explain themselves. `contracts/` and `GET /tools` have the full schema.
#[must_use]
pub fn without_descriptions(mut schema: Map<String, Value>) -> Map<String, Value> {
    fn strip(value: &mut Value, depth: usize) {
        match value {
            Value::Object(object) => {
                if depth >= LISTED_DEPTH_MAX && object.get("type").is_some_and(|kind| kind == "object") {
                    object.retain(|word, _| word == "type");
                }
                for word in ["description", "required", "minimum", "enum"] {
                    // Below `properties` such a key is the name of a field, whose schema is an object: keep it.
                    if object.get(word).is_some_and(|value| !value.is_object()) {
                        object.shift_remove(word);
                    }
                }
                for (word, inner) in object.iter_mut() {
                    match inner {
                        Value::Object(fields) if word == "properties" => {
                            fields.values_mut().for_each(|field| strip(field, depth + 1));
                        }
                        // The elements of a list do not count as a level.
                        inner => strip(inner, if word == "items" { depth.saturating_sub(1) } else { depth }),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| strip(item, depth)),
            _ => {}
        }
    }
    // The error is the same for every tool.
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

/// A compiled input schema.
pub struct InputSchema {
    validator: Validator,
    fields: Vec<String>,
    /// The values of fields that have a list of them.
    choices: Vec<(String, Vec<String>)>,
}

impl InputSchema {
    /// Compiles `schema` without the rules of `project_id`: a malformed id has an error code of its own, `VALIDATION_ERROR`,
    /// which is raised where the id is parsed.
    ///
    /// # Errors
    /// The schema itself is malformed.
    pub fn compile(mut schema: Map<String, Value>) -> Result<Self, String> {
        let (mut fields, mut choices) = (Vec::new(), Vec::new());
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            if let Some(Value::Object(project_id)) = properties.get_mut("project_id") {
                for rule in ["pattern", "minLength", "maxLength"] {
                    project_id.shift_remove(rule);
                }
            }
            fields = properties.keys().cloned().collect();
            let listed = |(name, rules): (&String, &Value)| (name.clone(), choices_of(rules));
            choices = properties.iter().map(listed).filter(|(_, choices)| !choices.is_empty()).collect();
        }
        let validator = jsonschema::validator_for(&Value::Object(schema)).map_err(|e| e.to_string())?;
        Ok(Self { validator, fields, choices })
    }

    /// Replaces texts that are one of the listed values of their field in another case, including those in lists, by that value.
    pub(super) fn fold_choices(&self, arguments: &mut Value) {
        for (field, choices) in &self.choices {
            match arguments.get_mut(field) {
                Some(Value::Array(list)) => list.iter_mut().for_each(|item| fold_choice(item, choices)),
                Some(value) => fold_choice(value, choices),
                None => {}
            }
        }
    }

    /// All violations; empty if the arguments are valid.
    #[must_use]
    pub fn violations(&self, arguments: &Value) -> Vec<Violation> {
        self.validator
            .iter_errors(arguments)
            .flat_map(|error| violation::violations_of(&error, &self.fields))
            .collect()
    }
}

/// The texts that the rules of a field list, for itself or for its elements.
fn choices_of(rules: &Value) -> Vec<String> {
    let alternatives = ["anyOf", "oneOf"].iter().filter_map(|word| rules.get(word)?.as_array()).flatten();
    let texts = rules.get("enum").and_then(Value::as_array).into_iter().flatten();
    let texts = texts.chain(rules.get("const")).filter_map(Value::as_str).map(str::to_owned);
    texts.chain(rules.get("items").into_iter().chain(alternatives).flat_map(choices_of)).collect()
}

fn fold_choice(value: &mut Value, choices: &[String]) {
    let Value::String(text) = value else { return };
    if !choices.contains(text)
        && let Some(choice) = choices.iter().find(|choice| choice.eq_ignore_ascii_case(text.trim()))
    {
        text.clone_from(choice);
    }
}

/// Longer words have no nearest name, because the comparison takes time in proportion to their length.
const NEAREST_BYTES_MAX: usize = 256;
/// Jaro-Winkler similarity, 0 to 1, from which a name is suggested: admits a typing error or two, but no other words.
const SIMILARITY_MIN: f64 = 0.82;

/// The known name most similar to `word`, if one is similar enough to be what the caller meant.
pub fn nearest_name<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['_', '-'], "");
    if word.len() > NEAREST_BYTES_MAX {
        return None;
    }
    let word = plain(word);
    known
        .map(|candidate| (strsim::jaro_winkler(&word, &plain(candidate)), candidate))
        .filter(|(similarity, _)| *similarity >= SIMILARITY_MIN)
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
        let schema = Value::Object(generate_schema::<Sample>());
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
    fn values_from_a_list_are_read_in_any_case() {
        let schema = json!({ "properties": {
            "mode": { "enum": ["code", "Code", "all"] }, "wait": { "enum": [true, "words"] },
            "kinds": { "type": "array", "items": { "enum": ["a_b"] } }, "text": { "type": "string" }
        } });
        let Value::Object(schema) = schema else { panic!("an object") };
        let compiled = InputSchema::compile(schema).unwrap();
        let mut arguments = json!({ "mode": "CODE", "wait": " Words", "kinds": ["A_B", "c"], "text": "ALL" });
        compiled.fold_choices(&mut arguments);
        let expected = json!({ "mode": "code", "wait": "words", "kinds": ["a_b", "c"], "text": "ALL" });
        assert_eq!(arguments, expected);
        let mut exact = json!({ "mode": "Code", "wait": true });
        compiled.fold_choices(&mut exact);
        assert_eq!(exact, json!({ "mode": "Code", "wait": true }), "what is listed stays");
    }

    #[test]
    fn listed_schemas_have_no_length_rules() {
        let shown = Value::Object(without_length_rules(generate_schema::<Sample>()));
        assert_eq!(shown["properties"]["project_id"], json!({ "type": "string" }));
        assert_eq!(shown["properties"]["id"], json!({ "type": "integer" }));
        assert_eq!(shown["properties"]["limit"], json!({ "type": "integer", "maximum": 50 }));
        assert_eq!(shown["properties"]["query"]["description"], "What to ask.");
        assert_eq!((&shown["required"], &shown["additionalProperties"]), (&json!(["query"]), &json!(false)));
    }

    #[test]
    fn violations_name_the_nearest_field() {
        let schema = InputSchema::compile(generate_schema::<Sample>()).unwrap();
        let broken = schema.violations(&json!({ "query": "x", "repoPath": "/x", "zzz": 1, "limit": 51 }));
        let messages: Vec<&str> = broken.iter().map(|v| v.message.as_str()).collect();
        assert_eq!(broken.len(), 3, "{messages:?}");
        assert!(messages.iter().any(|m| m.contains("did you mean `repo_path`")), "{messages:?}");
        assert!(messages.iter().any(|m| m.contains("`limit`")), "{messages:?}");
        assert!(schema.violations(&json!({})).iter().any(|v| v.keyword == "required"));
        assert!(schema.violations(&json!({ "query": "x", "project_id": "Not_Ok" })).is_empty());
    }
}
