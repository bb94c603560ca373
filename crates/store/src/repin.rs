//! Gives a project another model: its vectors go, and room for those of the new one is made, in one transaction.

use super::control::projects;
use super::door::{ControlTx, Store};
use super::project::index_state;
use super::provision::{end_runs, lock};
use super::workspace::{ModelFacts, Project};
use crate::postgres::{Pool, SchemaName, sql};
use contract::{ErrorCode, Fault};
use platform::failpoints;

/// Pins the project to `model`; false when it is already. Everything that is searchable stays so by its words, and
/// the next index run embeds all of it. A run under way loses its claim to the next worker, so that no vector of the
/// former model is written after this.
///
/// # Errors
/// `NO_INDEX` when the project is gone; storage faults, after which nothing has changed.
pub async fn repin(store: &Store, project: &Project, model: &ModelFacts) -> Result<bool, Fault> {
    let id = project.id();
    let mut door = ControlTx { tx: store.database().begin(Pool::Ddl).await? };
    lock(&mut door, id).await?;
    let Some((found, _)) = projects::find(&mut door, id, project.decided_by()).await? else {
        return Err(Fault::new(ErrorCode::NoIndex, "The project is gone."));
    };
    if found.model() == model {
        door.commit().await?;
        return Ok(false);
    }
    let schema = SchemaName::of(id);
    end_runs(&mut door, id, &schema).await?;
    index_state::forget_vectors(&mut door, &schema).await?;
    let vectors = schema.table("vectors");
    for text in [
        format!("DROP INDEX IF EXISTS {}", schema.table("vectors_hnsw")),
        format!("TRUNCATE {vectors}"),
        format!("ALTER TABLE {vectors} ALTER COLUMN embedding TYPE halfvec({})", model.dimensions),
        // A new type comes with its own way of storage.
        format!("ALTER TABLE {vectors} ALTER COLUMN embedding SET STORAGE PLAIN"),
        // What was complete is so no more, until it has vectors again.
        format!("UPDATE {} SET state = 'new' WHERE state = 'ready'", schema.table("repositories")),
    ] {
        door.tx.execute(sql(text)).await?;
    }
    failpoints::reach("model.emptied");
    projects::repin(&mut door, id, model).await?;
    door.commit().await?;
    failpoints::reach("model.committed");
    Ok(true)
}
