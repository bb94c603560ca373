//! Finds damaged tables, and empties the tables of a project that an index run can fill again.

use super::control::projects;
use super::project::index_state;
use super::provision::{end_runs, lock};
use super::transaction::{ControlTx, Store};
use super::workspace::Project;
use crate::postgres::{Pool, SEARCH, SchemaName, is_damage, quoted, sql, sqlstate, tables_of};
use contract::{ErrorCode, Fault};

/// Tables of the search module that an index run cannot fill again; all others are derived from the repositories' files.
const NOT_DERIVED: [&str; 2] = ["index_state", "repositories"];
/// The schema that all projects share.
const CONTROL: &str = "pairofcleats";
/// SQLSTATE of a missing privilege.
const INSUFFICIENT_PRIVILEGE: &str = "42501";

/// A table that cannot be read completely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedTable {
    /// Its name in its schema.
    pub table: String,
    /// `true` if an index run restores its whole content.
    pub derived: bool,
}

/// Reads every page of a project's tables, including oversized values, so that the database verifies their checksums. Takes as
/// long as reading the files; does not read indexes.
///
/// # Errors
/// Storage faults other than damage.
pub async fn check_project(store: &Store, project: &Project) -> Result<Vec<DamagedTable>, Fault> {
    check_schema(store, project.schema().as_str()).await
}

/// As [`check_project`], for the control schema: keys, jobs, the list of projects.
///
/// # Errors
/// As [`check_project`].
pub async fn check_control(store: &Store) -> Result<Vec<DamagedTable>, Fault> {
    check_schema(store, CONTROL).await
}

async fn check_schema(store: &Store, schema: &str) -> Result<Vec<DamagedTable>, Fault> {
    let mut control = store.control_read().await?;
    let query = sql("SELECT c.relname::text AS name, t.relname::text AS long_values \
         FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         LEFT JOIN pg_catalog.pg_class t ON t.oid = c.reltoastrelid \
         WHERE n.nspname = $1 AND c.relkind = 'r' ORDER BY c.relname");
    let rows = control.tx.all(query.bind(schema.to_owned())).await?;
    control.commit().await?;
    let derived = derived_tables();
    let mut damaged = Vec::new();
    for row in rows {
        let (table, toast_table): (String, Option<String>) =
            (row.try_get("name")?, row.try_get("long_values")?);
        let relations =
            [Some((schema, table.as_str())), toast_table.as_deref().map(|name| ("pg_toast", name))];
        for (schema, name) in relations.into_iter().flatten() {
            match read_all(store, &format!("{}.{}", quoted(schema), quoted(name))).await {
                Err(fault) if is_damage(&fault) => {
                    damaged.push(DamagedTable {
                        derived: derived.contains(&table.as_str()),
                        table: table.clone(),
                    });
                    break;
                }
                // Only a superuser may read a TOAST table directly.
                Err(fault) if sqlstate(&fault).as_deref() == Some(INSUFFICIENT_PRIVILEGE) => {}
                read => read?,
            }
        }
    }
    Ok(damaged)
}

async fn read_all(store: &Store, table: &str) -> Result<(), Fault> {
    let mut tx = store.database().begin(Pool::Ddl).await?;
    tx.lift_timeout().await?;
    // An index-only scan would count the rows without reading the table.
    for scan in ["indexscan", "indexonlyscan", "bitmapscan"] {
        tx.execute(sql(format!("SET LOCAL enable_{scan} = off"))).await?;
    }
    tx.one(sql(format!("SELECT count(*) FROM {table}"))).await?;
    tx.rollback().await
}

/// The tables that index runs derive from the repositories' files.
fn derived_tables() -> Vec<&'static str> {
    tables_of(SEARCH).into_iter().filter(|table| !NOT_DERIVED.contains(table)).collect()
}

/// Empties all tables that index runs fill, even unreadable ones; keeps repositories, findings and decisions. A running job
/// loses its claim. Searches of the project find nothing until its repositories are indexed again.
///
/// # Errors
/// `NO_INDEX` when the project is gone; storage faults. Nothing has changed then.
pub async fn clear_index(store: &Store, project: &Project) -> Result<(), Fault> {
    let id = project.id();
    let mut control = ControlTx { tx: store.database().begin(Pool::Ddl).await? };
    lock(&mut control, id).await?;
    if projects::find(&mut control, id, project.decided_by()).await?.is_none() {
        return Err(Fault::new(ErrorCode::NoIndex, "The project is gone."));
    }
    let schema = SchemaName::new(id);
    end_runs(&mut control, id, &schema).await?;
    index_state::record_no_vectors(&mut control, &schema).await?;
    let tables: Vec<String> = derived_tables().into_iter().map(|table| schema.table(table)).collect();
    for text in [
        format!("DROP INDEX IF EXISTS {}", schema.table("vectors_hnsw")),
        // TRUNCATE creates new files for the tables and their indexes without reading the damaged ones.
        format!("TRUNCATE {}", tables.join(", ")),
        format!(
            "UPDATE {} \
             SET generation = generation + 1, chunks = 0, files = 0, statistics_chunks = 0, \
               updated_at = now() \
             WHERE id = 1",
            schema.table("index_state")
        ),
        format!(
            "UPDATE {} \
             SET state = 'new', files = 0, chunks = 0, statistics_chunks = 0, changed_since_statistics = 0, \
               indexed_at = NULL, report = NULL",
            schema.table("repositories")
        ),
    ] {
        control.tx.execute(sql(text)).await?;
    }
    control.commit().await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::MODULES;

    #[test]
    fn decisions_of_people_are_not_derived() {
        let derived = derived_tables();
        assert!(derived.contains(&"files") && derived.contains(&"chunks") && derived.contains(&"vectors"));
        for module in MODULES {
            for table in tables_of(module.migrations) {
                assert!(!derived.contains(&table), "{table}");
            }
        }
        assert!(NOT_DERIVED.iter().all(|table| !derived.contains(table)));
    }
}
