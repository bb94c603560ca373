//! Which model a project has got, and getting another one: only when somebody says so twice.

use super::App;
use contract::{ErrorCode, Fault};
use embedding::{ModelName, Precision};
use store::{self, Access, ModelFacts, Project, ProjectTx, vectors};

impl App {
    /// Pins the project to the model that `name` means, unless it is already; true when the project has lost its
    /// vectors for that and wants an index run. Without a variant, the model's name alone counts.
    ///
    /// # Errors
    /// `ILLEGAL_STATE` when it is not `confirmed`, with what it would cost; `CAPABILITY_MISSING` when the model is not
    /// installed; storage faults. Nothing has changed then.
    pub async fn repin(&self, project: &Project, name: &ModelName, confirmed: bool) -> Result<bool, Fault> {
        let pinned = project.model();
        let is_named = name.means(&pinned.id, &pinned.variant);
        if is_named && !confirmed {
            return Ok(false);
        }
        let precision = if is_named { Precision::parse(&pinned.variant) } else { name.precision };
        let model = self.model(&ModelName { precision, ..name.clone() }).await?;
        let wanted = ModelFacts::of(model.model());
        if wanted == *pinned {
            return Ok(false);
        }
        let store = self.store().await?;
        if !confirmed {
            let mut tx = ProjectTx::begin(store, project, Access::Search).await?;
            let texts = vectors::texts_count(&mut tx).await?;
            tx.commit().await?;
            return Err(unconfirmed(project, &wanted, texts));
        }
        store::repin(store, project, &wanted).await
    }
}

fn unconfirmed(project: &Project, wanted: &ModelFacts, texts: i64) -> Fault {
    let pinned = project.model();
    let message = format!(
        "The project has the model {} ({}); {} ({}) would make {texts} vectors anew. Nothing was changed.",
        pinned.id, pinned.variant, wanted.id, wanted.variant
    );
    let model = |model: &ModelFacts| serde_json::json!({ "id": model.id, "variant": model.variant, "dimensions": model.dimensions });
    Fault::new(ErrorCode::IllegalState, message)
        .with_details(serde_json::json!({
            "project_id": project.id().public(), "pinned": model(pinned), "wanted": model(wanted), "vectors": texts,
        }))
        .with_hint("Say so with confirmReembed (on the command line --yes), leave the model out, or use another project.")
}
