//! pgvector in the connected database: its version, available updates, and a smoke test.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::connect::Database;
use super::error::{permission_denied, sqlstate};
use super::guard::Tx;
use super::pools::Pool;
use super::schema_name::quoted;
use super::server;
use super::statement::sql;
use contract::{ErrorCode, Fault};

/// What the database knows of the extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VectorExtension {
    /// Version that is installed in the database.
    pub installed: String,
    /// Newest version that the database server has files of.
    pub available: String,
    /// Schema that holds it.
    pub schema: String,
    /// Known faults of this version.
    pub warnings: Vec<String>,
}

/// Parameters of the smoke test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorProbe {
    /// Name of the temporary table.
    pub table: String,
    /// Name of its column.
    pub column: String,
    /// Half precision instead of single.
    pub half: bool,
    /// Parameters of the HNSW index.
    pub options: Vec<(String, u32)>,
}

impl Database {
    /// The installed and the newest available version of the extension.
    ///
    /// # Errors
    /// `CAPABILITY_MISSING` if it is not installed; storage faults.
    pub async fn vector_extension(&self) -> Result<VectorExtension, Fault> {
        let mut tx = self.begin_read_only(Pool::Search).await?;
        let extension = read_versions(&mut tx).await?;
        tx.commit().await?;
        Ok(extension)
    }

    /// Updates the extension to the newest version that the server has files of.
    ///
    /// # Errors
    /// `PERMISSION_DENIED` with the remedy when the login may not.
    pub async fn update_vector_extension(&self) -> Result<VectorExtension, Fault> {
        let mut tx = self.begin(Pool::Ddl).await?;
        tx.execute(sql("ALTER EXTENSION vector UPDATE")).await.map_err(not_updated)?;
        let extension = read_versions(&mut tx).await?;
        tx.commit().await?;
        Ok(extension)
    }

    /// Smoke test: creates a temporary table of three dimensions with an HNSW index, searches for the nearest of two vectors,
    /// and rolls back. Returns the nearest vector.
    ///
    /// # Errors
    /// `INVALID_REQUEST` when an option of the index is out of range; storage faults.
    pub async fn probe_vector_extension(&self, probe: &VectorProbe) -> Result<String, Fault> {
        let mut tx = self.begin(Pool::Ddl).await?;
        let nearest = run_probe(&mut tx, probe).await;
        // Roll back in any case; the error of the probe takes precedence.
        let rolled_back = tx.rollback().await;
        let nearest = nearest?;
        rolled_back?;
        Ok(nearest)
    }
}

async fn read_versions(tx: &mut Tx) -> Result<VectorExtension, Fault> {
    let query =
        sql("SELECT e.extversion AS installed, a.default_version AS available, n.nspname::text AS schema \
             FROM pg_catalog.pg_extension e \
             JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace \
             JOIN pg_catalog.pg_available_extensions a ON a.name = e.extname \
             WHERE e.extname = 'vector'");
    let Some(row) = tx.first(query).await? else {
        return Err(Fault::new(ErrorCode::CapabilityMissing, "The database has no pgvector extension.")
            .with_hint("Call `download_extensions` with provider pgvector, or start the server again."));
    };
    let installed: String = row.try_get("installed")?;
    let warnings = server::known_faults(&installed).into_iter().collect();
    Ok(VectorExtension {
        installed,
        available: row.try_get("available")?,
        schema: row.try_get("schema")?,
        warnings,
    })
}

async fn run_probe(tx: &mut Tx, probe: &VectorProbe) -> Result<String, Fault> {
    let (table, column) = (format!("pg_temp.{}", quoted(&probe.table)), quoted(&probe.column));
    let (kind, class) =
        if probe.half { ("halfvec(3)", "halfvec_cosine_ops") } else { ("vector(3)", "vector_cosine_ops") };
    let options: Vec<String> =
        probe.options.iter().map(|(name, value)| format!("{} = {value}", quoted(name))).collect();
    let with = if options.is_empty() { String::new() } else { format!(" WITH ({})", options.join(", ")) };
    tx.execute(sql(format!("CREATE TABLE {table} (id int4 PRIMARY KEY, {column} {kind} NOT NULL)"))).await?;
    tx.execute(sql(format!("INSERT INTO {table} VALUES (1, '[0.1,0.2,0.3]'), (2, '[0.9,-0.8,0.7]')")))
        .await?;
    tx.execute(sql(format!("CREATE INDEX ON {table} USING hnsw ({column} {class}){with}")))
        .await
        .map_err(not_indexed)?;
    tx.execute(sql("SET LOCAL enable_seqscan = off")).await?;
    let nearest =
        format!("SELECT {column}::text FROM {table} ORDER BY {column} <=> '[0.1,0.2,0.31]' LIMIT 1");
    tx.scalar(sql(nearest)).await
}

fn not_indexed(fault: Fault) -> Fault {
    // 22023: an unknown parameter, or a value outside of its range.
    if !matches!(sqlstate(&fault).as_deref(), Some("22023")) {
        return fault;
    }
    Fault::new(ErrorCode::InvalidRequest, "The index refuses an option or its value.")
        .with_hint("For pgvector: m from 2 to 100 and ef_construction from 4 to 1000, at least twice m.")
        .with_source(fault)
}

fn not_updated(fault: Fault) -> Fault {
    if fault.code != ErrorCode::PermissionDenied {
        return fault;
    }
    permission_denied(
        "The database login may not update the pgvector extension.",
        json!({}),
        "Ask an administrator to run: ALTER EXTENSION vector UPDATE;",
    )
    .with_source(fault)
}
