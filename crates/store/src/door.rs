//! The two doors to data.

use std::sync::Arc;

use super::single_flight::SingleFlight;
use super::workspace::Project;
use crate::postgres::{Database, Pool, Query, Tx};
use contract::Fault;
use platform::room::Room;

/// A snapshot holds no lock that others wait for, and its reader may write to a disk between two pages.
const SNAPSHOT_IDLE_MS_MAX: u64 = 600_000;

/// The database as the rest of the program sees it. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    db: Database,
    room: Room,
    pub(super) provisioning: Arc<SingleFlight>,
}

/// What a project transaction is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads, on the search pool with its short timeout; the server refuses writes.
    Search,
    /// Reads of all of it as one moment saw it, on the write pool, since it takes long.
    Snapshot,
    /// Reads and writes, on the write pool.
    Write,
}

impl Store {
    /// A store over a checked database.
    #[must_use]
    pub fn new(db: Database) -> Self {
        Self { db, room: Room::default(), provisioning: Arc::default() }
    }

    /// The same store; what writes in bulk stops where `room` is short.
    #[must_use]
    pub fn with_room(self, room: Room) -> Self {
        Self { room, ..self }
    }

    /// Where the database's files and ours lie, as far as this machine has them.
    #[must_use]
    pub fn room(&self) -> &Room {
        &self.room
    }

    /// Whether there is room for another batch.
    ///
    /// # Errors
    /// `STORAGE_UNAVAILABLE` when a file system is short of room ([`Room::check`]).
    pub async fn require_room(&self) -> Result<(), Fault> {
        self.room.require(0).await
    }

    /// The database beneath.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.db
    }

    /// The same store for one piece of work ([`Database::telling`]).
    #[must_use]
    pub fn telling(&self, told: impl Fn() + Send + Sync + 'static) -> Self {
        Self { db: self.db.telling(told), ..self.clone() }
    }

    /// Opens the door to the control schema for reading and writing.
    ///
    /// # Errors
    /// `STORAGE_UNAVAILABLE` when no connection comes in time.
    pub async fn control(&self) -> Result<ControlTx, Fault> {
        Ok(ControlTx { tx: self.db.begin(Pool::Write).await? })
    }

    /// Opens the door to the control schema for reading, without waiting behind indexing.
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
    /// Makes it all true.
    ///
    /// # Errors
    /// As [`Tx::commit`].
    pub async fn commit(self) -> Result<(), Fault> {
        self.tx.commit().await
    }

    /// Takes everything back.
    ///
    /// # Errors
    /// As [`Tx::rollback`].
    pub async fn rollback(self) -> Result<(), Fault> {
        self.tx.rollback().await
    }
}

/// A transaction on one project's schema, as that project's role: another schema answers 42501.
pub struct ProjectTx {
    pub(super) tx: Tx,
    project: Project,
}

impl ProjectTx {
    /// Begins. Every setting is its own statement and ends with the transaction; they go to the
    /// server in one message.
    ///
    /// # Errors
    /// `STORAGE_UNAVAILABLE` when no connection comes in time.
    pub async fn begin(store: &Store, project: &Project, access: Access) -> Result<Self, Fault> {
        let role = project.role().map(|role| format!("SET LOCAL ROLE {}", quoted_role(role)));
        let role = role.as_deref().unwrap_or_default();
        let tx = match access {
            Access::Search => store.db.begin_read_only_with(Pool::Search, role).await?,
            Access::Snapshot => {
                let how =
                    format!("SET LOCAL idle_in_transaction_session_timeout = {SNAPSHOT_IDLE_MS_MAX}; {role}");
                store.db.begin_read_only_with(Pool::Write, &how).await?
            }
            Access::Write => {
                project.require_writable()?;
                store.db.begin_with(Pool::Write, role).await?
            }
        };
        Ok(Self { tx, project: project.clone() })
    }

    /// Begins on the owner's login, for index builds and statistics, which a project's role may not do.
    ///
    /// # Errors
    /// `STORAGE_UNAVAILABLE` when no connection comes in time.
    pub(super) async fn begin_owner(store: &Store, project: &Project) -> Result<Self, Fault> {
        project.require_writable()?;
        Ok(Self { tx: store.db.begin(Pool::Ddl).await?, project: project.clone() })
    }

    /// The project this transaction is locked into.
    #[must_use]
    pub fn project(&self) -> &Project {
        &self.project
    }

    /// Lets statements of this transaction take long, for bulk maintenance ([`Tx::lift_timeout`]).
    ///
    /// # Errors
    /// Storage faults.
    pub async fn lift_timeout(&mut self) -> Result<(), Fault> {
        self.tx.lift_timeout().await
    }

    /// Makes it all true.
    ///
    /// # Errors
    /// As [`Tx::commit`].
    pub async fn commit(self) -> Result<(), Fault> {
        self.tx.commit().await
    }

    /// Takes everything back.
    ///
    /// # Errors
    /// As [`Tx::rollback`].
    pub async fn rollback(self) -> Result<(), Fault> {
        self.tx.rollback().await
    }

    /// A table of this project, qualified.
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
