//! Changes the embedding model of a project, which requires a confirmation.

use super::App;
use contract::{ErrorCode, Fault};
use embedding::{ModelName, Precision};
use store::{self, Access, ModelFacts, Project, ProjectTx, vectors};

impl App {
    /// Changes the project's model to `name`, unless the project already has it. Returns true if the model changed, which deletes all
    /// vectors, so that an index run is needed. Without a variant only the model's id is compared.
    ///
    /// # Errors
    /// `ILLEGAL_STATE` if the change is not `confirmed`, with its cost; `CAPABILITY_MISSING` if the model is not installed; storage
    /// faults. Nothing has changed in these cases.
    pub async fn change_model(
        &self,
        project: &Project,
        name: &ModelName,
        confirmed: bool,
    ) -> Result<bool, Fault> {
        let pinned = project.model();
        let is_named = name.matches(&pinned.id, &pinned.variant);
        if is_named && !confirmed {
            return Ok(false);
        }
        let precision = if is_named { Precision::parse(&pinned.variant) } else { name.precision };
        let model = self.model(&ModelName { precision, ..name.clone() }).await?;
        let wanted = ModelFacts::from(model.model());
        if wanted == *pinned {
            return Ok(false);
        }
        let store = self.store().await?;
        if !confirmed {
            let mut tx = ProjectTx::begin(store, project, Access::Search).await?;
            let texts = vectors::texts_count(&mut tx).await?;
            tx.commit().await?;
            return Err(confirmation_required(project, &wanted, texts));
        }
        store::change_model(store, project, &wanted).await
    }
}

fn confirmation_required(project: &Project, wanted: &ModelFacts, texts: i64) -> Fault {
    let pinned = project.model();
    let message = format!(
        "The project uses the model {} ({}); changing it to {} ({}) would embed {texts} texts again. Nothing was changed.",
        pinned.id, pinned.variant, wanted.id, wanted.variant
    );
    let model = |model: &ModelFacts| serde_json::json!({ "id": model.id, "variant": model.variant, "dimensions": model.dimensions });
    Fault::new(ErrorCode::IllegalState, message)
        .with_details(serde_json::json!({
            "project_id": project.id().public(), "pinned": model(pinned), "wanted": model(wanted), "vectors": texts,
        }))
        .with_hint("Confirm with confirmReembed (on the command line --yes), omit the model, or use another project.")
}
