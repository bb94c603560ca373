//! A project's rows on their way out, as one moment saw them, and in, all or nothing.
//!
//! Only tables that this program's own migrations make are read or written; an archive names none into being.

use std::collections::BTreeMap;

use tokio::sync::mpsc;

use super::arrived;
use super::control::{modules, projects};
use super::door::{Access, ControlTx, ProjectTx, Store};
use super::provision::{lock, make_role, make_schema, migrate};
use super::workspace::{DecidedBy, ModelFacts, Project};
use crate::postgres::{self, MODULES, Migration, Pool, SEARCH, SchemaName, newest, sql, tables_of};
use contract::{ErrorCode, Fault, ProjectId};

/// A module of a project's schema, as this program knows it.
#[derive(Debug, Clone, Copy)]
pub struct Module {
    /// Its name.
    pub name: &'static str,
    /// The newest version of its tables.
    pub version: i32,
    migrations: &'static [Migration],
}

impl Module {
    /// The module of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let search = postgres::Module { name: "search", migrations: SEARCH };
        let known = MODULES.iter().chain([&search]).find(|module| module.name == name)?;
        Some(Self { name: known.name, version: newest(known.migrations), migrations: known.migrations })
    }

    /// Its tables, each after those that it refers to.
    #[must_use]
    pub fn tables(&self) -> Vec<&'static str> {
        tables_of(self.migrations)
    }
}

/// A column as the database describes it.
pub type Column = (String, String);

/// A project as one moment saw it.
pub struct Departure {
    tx: ProjectTx,
    /// The modules it has.
    pub modules: Vec<Module>,
}

impl Departure {
    /// Begins; later writes are not seen.
    ///
    /// # Errors
    /// `ILLEGAL_STATE` when a module's tables are not of this program's version; storage faults.
    pub async fn begin(store: &Store, project: &Project) -> Result<Self, Fault> {
        let mut door = store.control_read().await?;
        let mut found = modules::list(&mut door, project.id()).await?;
        let version = projects::find(&mut door, project.id(), project.decided_by()).await?;
        door.commit().await?;
        found.insert(0, ("search".to_owned(), version.map_or(0, |(_, version)| version)));
        let modules = found.iter().map(|(name, version)| {
            Module::named(name).filter(|module| module.version == *version).ok_or_else(|| {
                let message = format!("The module {name} of the project is not of this program's version.");
                Fault::new(ErrorCode::IllegalState, message).with_hint("Use the program that wrote it last.")
            })
        });
        let modules = modules.collect::<Result<Vec<_>, _>>()?;
        let mut tx = ProjectTx::begin(store, project, Access::Snapshot).await?;
        tx.lift_timeout().await?;
        Ok(Self { tx, modules })
    }

    /// The columns of a table, and how many rows it has.
    ///
    /// # Errors
    /// Storage faults.
    pub async fn describe(&mut self, table: &'static str) -> Result<(Vec<Column>, u64), Fault> {
        let schema = self.tx.project().schema().clone();
        let columns = sql(COLUMNS).bind(schema.as_str().to_owned()).bind(table);
        let columns = self.tx.tx.all(columns).await?;
        let columns = columns.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
        let columns = columns.collect::<Result<Vec<Column>, Fault>>()?;
        let count = format!("SELECT count(*) FROM {}", schema.table(table));
        let rows: i64 = self.tx.tx.one(sql(count)).await?.try_get(0)?;
        Ok((columns, rows.unsigned_abs()))
    }

    /// Sends the rows of a table in Postgres' binary form.
    ///
    /// # Errors
    /// `CANCELLED` when nobody receives any more; storage faults.
    pub async fn send(
        &mut self,
        table: &'static str,
        columns: &[Column],
        to: &mpsc::Sender<Vec<u8>>,
    ) -> Result<(), Fault> {
        let text = format!("COPY {} ({}) TO STDOUT (FORMAT binary)", self.tx.table(table), quoted(columns));
        self.tx.tx.copy_out(&text, to).await
    }

    /// Ends it.
    ///
    /// # Errors
    /// Storage faults.
    pub async fn end(self) -> Result<(), Fault> {
        self.tx.commit().await
    }
}

/// A project that is being made from rows of before. Dropped unfinished, nothing of it is left.
pub struct Arrival {
    door: ControlTx,
    id: ProjectId,
    schema: SchemaName,
    model: ModelFacts,
    modules: Vec<Module>,
    database: String,
    may_create_roles: bool,
}

impl Arrival {
    /// Makes the empty tables.
    ///
    /// # Errors
    /// `ILLEGAL_STATE` when the project exists; `PERMISSION_DENIED` when the login may not make it; storage faults.
    pub async fn begin(
        store: &Store,
        id: &ProjectId,
        model: &ModelFacts,
        modules: Vec<Module>,
    ) -> Result<Self, Fault> {
        let mut door = ControlTx { tx: store.database().begin(Pool::Ddl).await? };
        lock(&mut door, id).await?;
        let schema = SchemaName::of(id);
        let there = sql("SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1)");
        let there: bool = door.tx.one(there.bind(schema.as_str())).await?.try_get(0)?;
        if there || projects::state(&mut door, id).await?.is_some() {
            let message = format!("There is a project `{id}` already.");
            return Err(Fault::new(ErrorCode::IllegalState, message)
                .with_hint("Give another name with --project, or delete that project first."));
        }
        door.tx.lift_timeout().await?;
        make_schema(&mut door, id, &schema).await?;
        for module in &modules {
            migrate(&mut door, &schema, module.migrations, 0, model).await?;
        }
        let facts = store.database().facts();
        let (database, may_create_roles) = (facts.database.clone(), facts.may_create_roles);
        Ok(Self { door, id: id.clone(), schema, model: model.clone(), modules, database, may_create_roles })
    }

    /// The columns of a table as this program makes it.
    ///
    /// # Errors
    /// Storage faults.
    pub async fn columns(&mut self, table: &'static str) -> Result<Vec<Column>, Fault> {
        let rows = self.door.tx.all(sql(COLUMNS).bind(self.schema.as_str()).bind(table)).await?;
        rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
    }

    /// Takes rows up in Postgres' binary form; returns how many came.
    ///
    /// # Errors
    /// The sender's fault; `DOWNLOAD_VERIFY_FAILED` when they are no rows of this table; storage faults.
    pub async fn receive(
        &mut self,
        table: &'static str,
        columns: &[Column],
        from: &mut mpsc::Receiver<Result<Vec<u8>, Fault>>,
    ) -> Result<u64, Fault> {
        let place = self.schema.table(table);
        // What the migrations put there is in the archive, too.
        self.door.tx.execute(sql(format!("DELETE FROM {place}"))).await?;
        let text = format!("COPY {place} ({}) FROM STDIN (FORMAT binary)", quoted(columns));
        self.door.tx.copy_in(&text, from).await
    }

    /// Checks what came, and publishes the project: repositories at their `places` here (name to root), no writer yet,
    /// indexes to be made, statistics taken. Returns the names of repositories without a place, too.
    ///
    /// # Errors
    /// `ARCHIVE_UNSAFE` for rows that no run writes; `INVALID_REQUEST` for a place of a repository that did not come;
    /// storage faults.
    pub async fn settle(
        mut self,
        places: &BTreeMap<String, String>,
    ) -> Result<(Project, Vec<String>), Fault> {
        let text = format!(
            "UPDATE {} SET fence = 0, terms_indexed = false, vectors_indexed = false, embedded_to = 0 WHERE id = 1",
            self.schema.table("index_state")
        );
        if self.door.tx.execute(sql(text)).await? != 1 {
            return Err(Fault::new(ErrorCode::DownloadVerifyFailed, "The archive holds no index state."));
        }
        arrived::check(&mut self.door, &self.schema).await?;
        let unplaced = arrived::settle(&mut self.door, &self.schema, places).await?;
        for table in self.modules.iter().flat_map(Module::tables) {
            self.door.tx.execute(sql(format!("ANALYZE {}", self.schema.table(table)))).await?;
        }
        let role = match self.may_create_roles {
            true => make_role(&mut self.door, &self.database, &self.id, &self.schema).await?,
            false => None,
        };
        for module in &self.modules {
            if module.name == "search" {
                projects::publish(&mut self.door, &self.id, role.as_deref(), &self.model, module.version)
                    .await?;
            } else {
                modules::publish(&mut self.door, &self.id, module.name, module.version).await?;
            }
        }
        self.door.commit().await?;
        Ok((Project::new(self.id, role, DecidedBy::Argument, self.model), unplaced))
    }
}

const COLUMNS: &str = "SELECT a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod) FROM pg_catalog.pg_attribute a \
     JOIN pg_catalog.pg_class c ON c.oid = a.attrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     WHERE n.nspname = $1 AND c.relname = $2 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attname";

/// The names of columns, which the database itself told.
fn quoted(columns: &[Column]) -> String {
    let names: Vec<String> = columns.iter().map(|(name, _)| postgres::quoted(name)).collect();
    names.join(", ")
}
