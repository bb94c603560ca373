//! How much room a project takes in the database: rows as they are stored, tables and indexes as they lie on disk.

use std::ops::AddAssign;

use crate::postgres::Row;

use crate::door::{ControlTx, ProjectTx, Store};
use crate::postgres::sql;
use crate::workspace::Project;
use contract::Fault;

/// Rows and what they take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Measured {
    /// How many.
    pub rows: u64,
    /// Bytes of the rows; not of indexes.
    pub bytes: u64,
}

impl Measured {
    /// Of a row that begins with a count and a sum.
    pub(crate) fn of(row: &Row) -> Result<Self, Fault> {
        let (rows, bytes): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        Ok(Self { rows: rows.unsigned_abs(), bytes: bytes.unsigned_abs() })
    }
}

impl AddAssign for Measured {
    fn add_assign(&mut self, other: Self) {
        self.rows += other.rows;
        self.bytes += other.bytes;
    }
}

/// A table on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSize {
    /// Its name.
    pub table: String,
    /// Bytes of the table and its oversized values.
    pub bytes: u64,
    /// Bytes of its indexes.
    pub index_bytes: u64,
}

/// The tables of the project, by name.
///
/// # Errors
/// Storage faults.
pub async fn tables(tx: &mut ProjectTx) -> Result<Vec<TableSize>, Fault> {
    let query = sql(
        "SELECT c.relname::text, coalesce(pg_table_size(c.oid), 0), coalesce(pg_indexes_size(c.oid), 0) \
         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE n.nspname = $1 AND c.relkind = 'r' ORDER BY c.relname",
    );
    let schema = tx.project().schema().as_str().to_owned();
    let rows = tx.tx.all(query.bind(schema)).await?;
    rows.iter()
        .map(|row| {
            Ok(TableSize {
                table: row.try_get(0)?,
                bytes: row.try_get::<i64>(1)?.unsigned_abs(),
                index_bytes: row.try_get::<i64>(2)?.unsigned_abs(),
            })
        })
        .collect()
}

/// Bytes of some tables and their oversized values, without indexes: what an index over them takes at most, roughly.
///
/// # Errors
/// Storage faults.
pub async fn of(tx: &mut ProjectTx, names: &[&str]) -> Result<u64, Fault> {
    let all = tables(tx).await?;
    Ok(all.iter().filter(|table| names.contains(&table.table.as_str())).map(|table| table.bytes).sum())
}

/// Bytes of all tables and indexes of the project's schema.
///
/// # Errors
/// Storage faults.
pub async fn total(tx: &mut ProjectTx) -> Result<u64, Fault> {
    Ok(tables(tx).await?.iter().map(|table| table.bytes + table.index_bytes).sum())
}

/// Bytes of the whole database.
///
/// # Errors
/// Storage faults.
pub async fn database(door: &mut ControlTx) -> Result<u64, Fault> {
    let row = door.tx.one(sql("SELECT pg_database_size(current_database())")).await?;
    Ok(row.try_get::<i64>(0)?.unsigned_abs())
}

/// Bytes of the system catalogs, which grow with every table.
///
/// # Errors
/// Storage faults.
pub async fn catalogs(door: &mut ControlTx) -> Result<u64, Fault> {
    let query = sql("SELECT sum(pg_total_relation_size(oid))::int8 FROM pg_catalog.pg_class \
         WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind = 'r'");
    Ok(door.tx.one(query).await?.try_get::<i64>(0)?.unsigned_abs())
}

/// Processes of the server: their ids, with the name that a client gave or what else they are for.
///
/// # Errors
/// Storage faults.
pub async fn processes(door: &mut ControlTx) -> Result<Vec<(i32, String)>, Fault> {
    let query = sql(
        "SELECT pid, coalesce(nullif(application_name, ''), backend_type) FROM pg_catalog.pg_stat_activity",
    );
    let rows = door.tx.all(query).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// The process of the server that answers this transaction.
///
/// # Errors
/// Storage faults.
pub async fn backend(door: &mut ControlTx) -> Result<u32, Fault> {
    let row = door.tx.one(sql("SELECT pg_backend_pid()")).await?;
    Ok(row.try_get::<i32>(0)?.unsigned_abs())
}

/// Gives the room of removed rows back: to the disk where it lies at the end of a table, else to rows to come.
/// Searches go on meanwhile.
///
/// # Errors
/// Storage faults.
pub async fn vacuum(store: &Store, project: &Project, tables: &[&'static str]) -> Result<(), Fault> {
    let _permit = store.database().build_permit().await?;
    for table in tables {
        let text = format!("VACUUM {}", project.schema().table(table));
        store.database().outside_transaction(sql(text)).await?;
    }
    Ok(())
}
