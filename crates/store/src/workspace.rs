//! A project that exists; every project transaction requires one.

use crate::postgres::SchemaName;
use contract::ModelIdentity;
use contract::{ErrorCode, Fault, ProjectId};

/// The rule that chose the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecidedBy {
    /// The call named it.
    Argument,
    /// `.pairofcleats.json` names it.
    Session,
    /// workflow-mcp named it.
    Workflow,
    /// Nothing did: the default workspace.
    Default,
}

impl DecidedBy {
    /// Its name in `_meta`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Argument => "argument",
            Self::Session => "session",
            Self::Workflow => "workflow-mcp",
            Self::Default => "default",
        }
    }
}

/// The model whose vectors a project holds. Different models or variants never share an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFacts {
    /// Name in the manifest.
    pub id: String,
    /// int8, fp32 or stub.
    pub variant: String,
    /// blake3 of the model's files.
    pub hash: Vec<u8>,
    /// Length of a vector.
    pub dimensions: usize,
}

impl From<&ModelIdentity> for ModelFacts {
    fn from(model: &ModelIdentity) -> Self {
        Self {
            id: model.id.clone(),
            variant: model.variant.clone(),
            hash: model.hash.to_vec(),
            dimensions: model.dimensions,
        }
    }
}

/// A workspace that exists and is migrated. Only lookups in the control schema create this value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    id: ProjectId,
    schema: SchemaName,
    role: Option<String>,
    decided_by: DecidedBy,
    model: ModelFacts,
    is_newer: bool,
}

impl Project {
    pub(super) fn new(id: ProjectId, role: Option<String>, decided_by: DecidedBy, model: ModelFacts) -> Self {
        let schema = SchemaName::new(&id);
        Self { id, schema, role, decided_by, model, is_newer: false }
    }

    /// Marks the project's tables as created by a newer program, which makes them read-only.
    pub(super) fn written_by_newer_program(self) -> Self {
        Self { is_newer: true, ..self }
    }

    /// True if a newer program created the project's tables, so that this one may misread what is in them.
    #[must_use]
    pub fn is_newer(&self) -> bool {
        self.is_newer
    }

    /// Refuses writes to tables that a newer program created, because data that only that program knows would become
    /// inconsistent.
    ///
    /// # Errors
    /// `ILLEGAL_STATE` if a newer program created the tables.
    pub fn require_writable(&self) -> Result<(), Fault> {
        if !self.is_newer {
            return Ok(());
        }
        Err(Fault::new(
            ErrorCode::IllegalState,
            "The project was written by a newer version of this program.",
        )
        .with_hint("Upgrade this installation."))
    }

    /// The id.
    #[must_use]
    pub fn id(&self) -> &ProjectId {
        &self.id
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> &SchemaName {
        &self.schema
    }

    /// The role its transactions run as; `None` if the login may not create roles.
    #[must_use]
    pub fn role(&self) -> Option<&str> {
        self.role.as_deref()
    }

    /// Returns the rule that chose it.
    #[must_use]
    pub fn decided_by(&self) -> DecidedBy {
        self.decided_by
    }

    /// The model of its vectors.
    #[must_use]
    pub fn model(&self) -> &ModelFacts {
        &self.model
    }

    /// Refuses to mix vectors of different models.
    ///
    /// # Errors
    /// `ILLEGAL_STATE` when `model` is not the one the project is pinned to.
    pub fn require_model(&self, model: &ModelFacts) -> Result<(), Fault> {
        let pinned = &self.model;
        if pinned.hash == model.hash && pinned.dimensions == model.dimensions {
            return Ok(());
        }
        let message = format!(
            "The project was indexed with the model {} ({}), but {} ({}) is loaded.",
            pinned.id, pinned.variant, model.id, model.variant
        );
        Err(Fault::new(ErrorCode::IllegalState, message)
            .with_details(serde_json::json!({
                "project_id": self.id.public(),
                "indexed_with": { "id": pinned.id, "variant": pinned.variant, "dimensions": pinned.dimensions },
                "loaded": { "id": model.id, "variant": model.variant, "dimensions": model.dimensions },
            }))
            .with_hint("Load the model the project was indexed with (assets.model, assets.variant), or index into another project."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_pinned_model_is_accepted() {
        let model = |hash: u8| ModelFacts {
            id: "m".into(),
            variant: "int8".into(),
            hash: vec![hash; 32],
            dimensions: 4,
        };
        let project = Project::new(ProjectId::default_workspace(), None, DecidedBy::Default, model(1));
        assert!(project.require_model(&model(1)).is_ok());
        let fault = project.require_model(&model(2)).unwrap_err();
        assert_eq!(fault.code, ErrorCode::IllegalState);
    }
}
