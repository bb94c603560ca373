//! Changes the embedding model of a project: removes its vectors and adapts the vector column, in one transaction.

use super::control::projects;
use super::project::index_state;
use super::provision::{end_runs, lock};
use super::transaction::{ControlTx, Store};
use super::workspace::{ModelFacts, Project};
use crate::postgres::{Pool, SchemaName, sql};
use contract::{ErrorCode, Fault};
use platform::failpoints;

/// Makes `model` the model of the project; returns false if it is already. Lexical search keeps working, and the next index run
/// embeds all texts. A running job loses its claim, so that it cannot write vectors of the old model afterwards.
///
/// # Errors
/// `NO_INDEX` when the project is gone; storage faults. Nothing has changed then.
pub async fn change_model(store: &Store, project: &Project, model: &ModelFacts) -> Result<bool, Fault> {
    let id = project.id();
    let mut control = ControlTx { tx: store.database().begin(Pool::Ddl).await? };
    lock(&mut control, id).await?;
    let Some((found, _)) = projects::find(&mut control, id, project.decided_by()).await? else {
        return Err(Fault::new(ErrorCode::NoIndex, "The project is gone."));
    };
    if found.model() == model {
        control.commit().await?;
        return Ok(false);
    }
    let schema = SchemaName::new(id);
    end_runs(&mut control, id, &schema).await?;
    index_state::record_no_vectors(&mut control, &schema).await?;
    let vectors = schema.table("vectors");
    for text in [
        format!("DROP INDEX IF EXISTS {}", schema.table("vectors_hnsw")),
        format!("TRUNCATE {vectors}"),
        format!("ALTER TABLE {vectors} ALTER COLUMN embedding TYPE halfvec({})", model.dimensions),
        // Changing the type resets the storage strategy of the column.
        format!("ALTER TABLE {vectors} ALTER COLUMN embedding SET STORAGE PLAIN"),
        // A repository is not complete until its chunks have vectors of the new model.
        format!("UPDATE {} SET state = 'new' WHERE state = 'ready'", schema.table("repositories")),
    ] {
        control.tx.execute(sql(text)).await?;
    }
    failpoints::reach("model.emptied");
    projects::set_model(&mut control, id, model).await?;
    control.commit().await?;
    failpoints::reach("model.committed");
    Ok(true)
}
