//! Sizes of a project: bytes of rows, and of tables and indexes on disk.

use std::ops::AddAssign;

use crate::postgres::Row;

use crate::postgres::sql;
use crate::transaction::{ControlTx, ProjectTx, Store};
use crate::workspace::Project;
use contract::Fault;

/// A number of rows and their size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowUsage {
    /// Number of rows.
    pub rows: u64,
    /// Bytes of the rows, without indexes.
    pub bytes: u64,
}

impl RowUsage {
    /// Decodes a row with the columns `rows` and `bytes`.
    pub(crate) fn read(row: &Row) -> Result<Self, Fault> {
        let (rows, bytes): (i64, i64) = (row.try_get("rows")?, row.try_get("bytes")?);
        Ok(Self { rows: rows.unsigned_abs(), bytes: bytes.unsigned_abs() })
    }
}

impl AddAssign for RowUsage {
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

/// The sizes of the project's tables, sorted by name.
pub async fn tables(tx: &mut ProjectTx) -> Result<Vec<TableSize>, Fault> {
    let query = sql("SELECT c.relname::text AS name, coalesce(pg_table_size(c.oid), 0) AS bytes, \
           coalesce(pg_indexes_size(c.oid), 0) AS index_bytes \
         FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE n.nspname = $1 AND c.relkind = 'r' ORDER BY c.relname");
    let schema = tx.project().schema().as_str().to_owned();
    let rows = tx.tx.all(query.bind(schema)).await?;
    rows.iter()
        .map(|row| {
            Ok(TableSize {
                table: row.try_get("name")?,
                bytes: row.try_get::<i64>("bytes")?.unsigned_abs(),
                index_bytes: row.try_get::<i64>("index_bytes")?.unsigned_abs(),
            })
        })
        .collect()
}

/// Bytes of some tables and their oversized values, without indexes; roughly an upper bound of the size of an index on them.
pub async fn table_bytes(tx: &mut ProjectTx, names: &[&str]) -> Result<u64, Fault> {
    let all = tables(tx).await?;
    Ok(all.iter().filter(|table| names.contains(&table.table.as_str())).map(|table| table.bytes).sum())
}

/// Bytes of all tables and indexes of the project's schema.
pub async fn total(tx: &mut ProjectTx) -> Result<u64, Fault> {
    Ok(tables(tx).await?.iter().map(|table| table.bytes + table.index_bytes).sum())
}

/// Bytes of the whole database.
pub async fn database(control: &mut ControlTx) -> Result<u64, Fault> {
    let query = sql("SELECT pg_database_size(current_database())");
    Ok(control.tx.scalar::<i64>(query).await?.unsigned_abs())
}

/// Bytes of the system catalogs, which grow with every table.
pub async fn catalogs(control: &mut ControlTx) -> Result<u64, Fault> {
    let query = sql("SELECT sum(pg_total_relation_size(oid))::int8 \
         FROM pg_catalog.pg_class \
         WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind = 'r'");
    Ok(control.tx.scalar::<i64>(query).await?.unsigned_abs())
}

/// Processes of the server: their ids, with the client's application name or else the type of the backend.
pub async fn processes(control: &mut ControlTx) -> Result<Vec<(i32, String)>, Fault> {
    let query = sql("SELECT pid, coalesce(nullif(application_name, ''), backend_type) AS name \
         FROM pg_catalog.pg_stat_activity");
    let rows = control.tx.all(query).await?;
    rows.iter().map(|row| Ok((row.try_get("pid")?, row.try_get("name")?))).collect()
}

/// Process id of the backend that executes this transaction.
pub async fn backend_pid(control: &mut ControlTx) -> Result<u32, Fault> {
    Ok(control.tx.scalar::<i32>(sql("SELECT pg_backend_pid()")).await?.unsigned_abs())
}

/// Frees the space of removed rows: returns it to the disk if it is at the end of a table, else makes it available to new rows.
/// Does not block searches.
pub async fn vacuum(store: &Store, project: &Project, tables: &[&'static str]) -> Result<(), Fault> {
    let _permit = store.database().build_permit().await?;
    for table in tables {
        let text = format!("VACUUM {}", project.schema().table(table));
        store.database().outside_transaction(sql(text)).await?;
    }
    Ok(())
}
