//! The one type that turns a project into qualified table names.

use std::fmt;

use contract::ProjectId;

/// The schema of a project; made from a [`ProjectId`] only, so it needs no further check.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SchemaName(Box<str>);

impl SchemaName {
    /// The schema of `project`.
    #[must_use]
    pub fn of(project: &ProjectId) -> Self {
        Self(project.schema_name().into())
    }

    /// The bare name, for bound values and answers.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A table of the schema, ready to stand in SQL: `"project_x"."chunks"`.
    #[must_use]
    pub fn table(&self, table: &'static str) -> String {
        format!("{self}.{}", quoted(table))
    }
}

/// The quoted name, ready to stand in SQL.
impl fmt::Display for SchemaName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&quoted(&self.0))
    }
}

/// `name` as a quoted SQL identifier.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qualifies_and_quotes() {
        let schema = SchemaName::of(&ProjectId::parse("client-a").unwrap());
        assert_eq!(schema.table("chunks"), r#""project_client_a"."chunks""#);
        assert_eq!(quoted(r#"a"b"#), r#""a""b""#);
    }
}
