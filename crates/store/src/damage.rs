//! What is damaged on the database's disk, and how a project makes room for what its repositories can give it again.

use super::control::projects;
use super::door::{ControlTx, Store};
use super::project::index_state;
use super::provision::{end_runs, lock};
use super::workspace::Project;
use crate::postgres::{Pool, SEARCH, SchemaName, is_damage, quoted, sql, sqlstate, tables_of};
use contract::{ErrorCode, Fault};

/// What the index of a project begins with; all other tables of the search module follow from the repositories' files.
const KEPT: [&str; 2] = ["index_state", "repositories"];
/// The schema of what all projects share.
const CONTROL: &str = "pairofcleats";
/// SQLSTATE: the login may not read it.
const FORBIDDEN: &str = "42501";

/// A table that cannot be read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedTable {
    /// Its name in its schema.
    pub table: String,
    /// Whether an index run makes all of it again.
    pub derived: bool,
}

/// Reads every page of a project's tables, long values included, which the database verifies by their checksums. Takes as
/// long as reading the files; indexes are not read.
///
/// # Errors
/// Storage faults other than damage.
pub async fn of_project(store: &Store, project: &Project) -> Result<Vec<DamagedTable>, Fault> {
    of_schema(store, project.schema().as_str()).await
}

/// The same for what all projects share: keys, jobs, the list of projects.
///
/// # Errors
/// As [`of_project`].
pub async fn of_control(store: &Store) -> Result<Vec<DamagedTable>, Fault> {
    of_schema(store, CONTROL).await
}

async fn of_schema(store: &Store, schema: &str) -> Result<Vec<DamagedTable>, Fault> {
    let mut door = store.control_read().await?;
    let query = sql("SELECT c.relname::text, t.relname::text FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         LEFT JOIN pg_catalog.pg_class t ON t.oid = c.reltoastrelid \
         WHERE n.nspname = $1 AND c.relkind = 'r' ORDER BY c.relname");
    let rows = door.tx.all(query.bind(schema.to_owned())).await?;
    door.commit().await?;
    let derived = derived();
    let mut damaged = Vec::new();
    for row in rows {
        let (table, long_values): (String, Option<String>) = (row.try_get(0)?, row.try_get(1)?);
        let places = [Some((schema, table.as_str())), long_values.as_deref().map(|name| ("pg_toast", name))];
        for (schema, name) in places.into_iter().flatten() {
            match read_all(store, &format!("{}.{}", quoted(schema), quoted(name))).await {
                Err(fault) if is_damage(&fault) => {
                    damaged.push(DamagedTable {
                        derived: derived.contains(&table.as_str()),
                        table: table.clone(),
                    });
                    break;
                }
                // Only a superuser may read long values where they lie.
                Err(fault) if sqlstate(&fault).as_deref() == Some(FORBIDDEN) => {}
                read => read?,
            }
        }
    }
    Ok(damaged)
}

async fn read_all(store: &Store, table: &str) -> Result<(), Fault> {
    let mut tx = store.database().begin(Pool::Ddl).await?;
    tx.limit_statements(std::time::Duration::ZERO).await?;
    // An index alone would tell how many rows there are.
    for scan in ["indexscan", "indexonlyscan", "bitmapscan"] {
        tx.execute(sql(format!("SET LOCAL enable_{scan} = off"))).await?;
    }
    tx.one(sql(format!("SELECT count(*) FROM {table}"))).await?;
    tx.rollback().await
}

/// The tables that index runs make of the repositories' files.
fn derived() -> Vec<&'static str> {
    tables_of(SEARCH).into_iter().filter(|table| !KEPT.contains(table)).collect()
}

/// Empties everything that index runs make, readable or not; repositories, findings and decisions stay. A run under way loses
/// its claim. Until the repositories are indexed again, nothing is found in the project.
///
/// # Errors
/// `NO_INDEX` when the project is gone; storage faults, after which nothing has changed.
pub async fn empty(store: &Store, project: &Project) -> Result<(), Fault> {
    let id = project.id();
    let mut door = ControlTx { tx: store.database().begin(Pool::Ddl).await? };
    lock(&mut door, id).await?;
    if projects::find(&mut door, id, project.decided_by()).await?.is_none() {
        return Err(Fault::new(ErrorCode::NoIndex, "The project is gone."));
    }
    let schema = SchemaName::of(id);
    end_runs(&mut door, id, &schema).await?;
    index_state::forget_vectors(&mut door, &schema).await?;
    let tables: Vec<String> = derived().into_iter().map(|table| schema.table(table)).collect();
    for text in [
        format!("DROP INDEX IF EXISTS {}", schema.table("vectors_hnsw")),
        // Gives the tables and their indexes new files, and reads nothing of the old ones.
        format!("TRUNCATE {}", tables.join(", ")),
        format!(
            "UPDATE {} SET generation = generation + 1, chunks = 0, files = 0, statistics_chunks = 0, \
             changed_since_statistics = 0, updated_at = now() WHERE id = 1",
            schema.table("index_state")
        ),
        format!(
            "UPDATE {} SET state = 'new', files = 0, chunks = 0, indexed_at = NULL, report = NULL",
            schema.table("repositories")
        ),
    ] {
        door.tx.execute(sql(text)).await?;
    }
    door.commit().await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::MODULES;

    #[test]
    fn what_people_decided_is_not_derived() {
        let derived = derived();
        assert!(derived.contains(&"files") && derived.contains(&"chunks") && derived.contains(&"vectors"));
        for module in MODULES {
            for table in tables_of(module.migrations) {
                assert!(!derived.contains(&table), "{table}");
            }
        }
        assert!(KEPT.iter().all(|table| !derived.contains(table)));
    }
}
