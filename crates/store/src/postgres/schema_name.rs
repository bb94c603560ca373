//! Qualified names of a project's schema and its tables.

use std::fmt;

use contract::ProjectId;

/// The name of a project's schema. It can only be derived from a [`ProjectId`], so it needs no further validation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SchemaName(Box<str>);

impl SchemaName {
    /// The schema name of `project`.
    #[must_use]
    pub fn new(project: &ProjectId) -> Self {
        Self(project.schema_name().into())
    }

    /// The unquoted name, for bound values and responses.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The qualified and quoted name of a table: `"project_x"."chunks"`.
    #[must_use]
    pub fn table(&self, table: &'static str) -> String {
        format!("{self}.{}", quoted(table))
    }
}

/// The quoted name, as SQL needs it.
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
        let schema = SchemaName::new(&ProjectId::parse("client-a").unwrap());
        assert_eq!(schema.table("chunks"), r#""project_client_a"."chunks""#);
        assert_eq!(quoted(r#"a"b"#), r#""a""b""#);
    }
}
