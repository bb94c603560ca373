//! The store and its two kinds of transaction: on the control schema, and on the schema of one project.

use std::sync::Arc;

use super::single_flight::SingleFlight;
use super::workspace::Project;
use crate::postgres::{Database, Pool, Query, Tx};
use contract::Fault;
use platform::disk_space::DiskSpace;

/// Longest pause between two statements of a snapshot, in milliseconds. It is long because the reader may write to a disk
/// in between, and harmless because a snapshot blocks no other transaction.
const SNAPSHOT_IDLE_MS_MAX: u64 = 600_000;

/// Access to the database for the rest of the program. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    db: Database,
    disk_space: DiskSpace,
    pub(super) provisioning: Arc<SingleFlight>,
}

/// The purpose of a project transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads, on the search pool with its short timeout; the server refuses writes.
    Search,
    /// Long reads of a consistent snapshot, on the write pool.
    Snapshot,
    /// Reads and writes, on the write pool.
    Write,
}

impl Store {
    /// A store on a connected database.
    #[must_use]
    pub fn new(db: Database) -> Self {
        Self { db, disk_space: DiskSpace::default(), provisioning: Arc::default() }
    }

    /// The same store, whose bulk writes stop when `disk_space` finds too little free space.
    #[must_use]
    pub fn with_disk_space(self, disk_space: DiskSpace) -> Self {
        Self { disk_space, ..self }
    }

    /// The file systems of the database and of this program, as far as they are on this machine.
    #[must_use]
    pub fn disk_space(&self) -> &DiskSpace {
        &self.disk_space
    }

    /// Checks that there is disk space for another batch.
    ///
    /// # Errors
    /// `STORAGE_UNAVAILABLE` if a file system has too little free space ([`DiskSpace::check`]).
    pub async fn require_disk_space(&self) -> Result<(), Fault> {
        self.disk_space.require(0).await
    }

    /// The underlying database.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.db
    }

    /// A store that reports activity of the database to `on_activity` ([`Database::with_on_activity`]).
    #[must_use]
    pub fn with_on_activity(&self, on_activity: impl Fn() + Send + Sync + 'static) -> Self {
        Self { db: self.db.with_on_activity(on_activity), ..self.clone() }
    }

    /// Begins a read-write transaction on the control schema.
    ///
    /// # Errors
    /// `STORAGE_UNAVAILABLE` when no connection comes in time.
    pub async fn control(&self) -> Result<ControlTx, Fault> {
        Ok(ControlTx { tx: self.db.begin(Pool::Write).await? })
    }

    /// Begins a read-only transaction on the control schema, on the search pool, which indexing does not use.
    ///
    /// # Errors
    /// `STORAGE_UNAVAILABLE` when no connection comes in time.
    pub async fn control_read(&self) -> Result<ControlTx, Fault> {
        Ok(ControlTx { tx: self.db.begin_read_only(Pool::Search).await? })
    }
}

/// A transaction on the control schema.
pub struct ControlTx {
    pub(super) tx: Tx,
}

impl ControlTx {
    /// Commits the transaction.
    ///
    /// # Errors
    /// As [`Tx::commit`].
    pub async fn commit(self) -> Result<(), Fault> {
        self.tx.commit().await
    }

    /// Rolls the transaction back.
    ///
    /// # Errors
    /// As [`Tx::rollback`].
    pub async fn rollback(self) -> Result<(), Fault> {
        self.tx.rollback().await
    }
}

/// A transaction on one project's schema, as that project's role; access to any other project fails with 42501.
pub struct ProjectTx {
    pub(super) tx: Tx,
    project: Project,
}

impl ProjectTx {
    /// Begins the transaction and applies its settings, which end with it, in one message.
    ///
    /// # Errors
    /// `STORAGE_UNAVAILABLE` when no connection comes in time; `ILLEGAL_STATE` for writes to tables of a newer program.
    pub async fn begin(store: &Store, project: &Project, access: Access) -> Result<Self, Fault> {
        let role = project.role().map(|role| format!("SET LOCAL ROLE {}", quoted_role(role)));
        let role = role.as_deref().unwrap_or_default();
        let tx = match access {
            Access::Search => store.db.begin_read_only_with(Pool::Search, role).await?,
            Access::Snapshot => {
                let settings =
                    format!("SET LOCAL idle_in_transaction_session_timeout = {SNAPSHOT_IDLE_MS_MAX}; {role}");
                store.db.begin_read_only_with(Pool::Write, &settings).await?
            }
            Access::Write => {
                project.require_writable()?;
                store.db.begin_with(Pool::Write, role).await?
            }
        };
        Ok(Self { tx, project: project.clone() })
    }

    /// Begins a transaction as the owner of the schema, for index builds and statistics, which need more privileges than the
    /// project's role has.
    ///
    /// # Errors
    /// `STORAGE_UNAVAILABLE` when no connection comes in time; `ILLEGAL_STATE` if a newer program created the tables.
    pub(super) async fn begin_owner(store: &Store, project: &Project) -> Result<Self, Fault> {
        project.require_writable()?;
        Ok(Self { tx: store.db.begin(Pool::Ddl).await?, project: project.clone() })
    }

    /// The project of this transaction.
    #[must_use]
    pub fn project(&self) -> &Project {
        &self.project
    }

    /// Runs a trivial statement, so that the database does not end the transaction as idle.
    pub async fn keep_alive(&mut self) -> Result<(), Fault> {
        self.execute(crate::postgres::sql("SELECT 1")).await.map(drop)
    }

    /// Raises the statement timeout for bulk maintenance ([`Tx::lift_timeout`]).
    pub async fn lift_timeout(&mut self) -> Result<(), Fault> {
        self.tx.lift_timeout().await
    }

    /// Commits the transaction.
    ///
    /// # Errors
    /// As [`Tx::commit`].
    pub async fn commit(self) -> Result<(), Fault> {
        self.tx.commit().await
    }

    /// Rolls the transaction back.
    ///
    /// # Errors
    /// As [`Tx::rollback`].
    pub async fn rollback(self) -> Result<(), Fault> {
        self.tx.rollback().await
    }

    /// The qualified name of a table of this project.
    pub(super) fn table(&self, table: &'static str) -> String {
        self.project.schema().table(table)
    }

    pub(super) async fn execute(&mut self, query: Query<'_>) -> Result<u64, Fault> {
        self.tx.execute(query).await
    }
}

fn quoted_role(role: &str) -> String {
    format!("\"{}\"", role.replace('"', "\"\""))
}
