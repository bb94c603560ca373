//! The argument `project_id` and its schema.

use std::borrow::Cow;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use contract::{PROJECT_ID_CHARS_MAX, PROJECT_ID_PATTERN};

/// A project id as the client sent it, not yet validated: [`contract::ProjectId`] parses it and reports `VALIDATION_ERROR`.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct ProjectIdArg(String);

impl Deref for ProjectIdArg {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<ProjectIdArg> for String {
    fn from(id: ProjectIdArg) -> Self {
        id.0
    }
}

impl JsonSchema for ProjectIdArg {
    fn schema_name() -> Cow<'static, str> {
        "ProjectId".into()
    }

    // Inlined into each field, because each tool describes the field differently.
    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "minLength": 1,
            "maxLength": PROJECT_ID_CHARS_MAX,
            "pattern": PROJECT_ID_PATTERN,
        })
    }
}
