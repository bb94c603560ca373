//! Exports a project from one snapshot, and imports a project in one transaction.
//!
//! Reads and writes only tables that the migrations of this program create; an archive cannot introduce others.

use std::collections::BTreeMap;

use tokio::sync::mpsc;

use super::control::{modules, projects};
use super::import_checks;
use super::provision::{has_module, lock, make_role, make_schema, migrate};
use super::transaction::{Access, ControlTx, ProjectTx, Store};
use super::workspace::{DecidedBy, ModelFacts, Project};
use crate::postgres::{self, MODULES, Migration, Pool, Row, SEARCH, SchemaName, newest, sql, tables_of};
use contract::{ErrorCode, Fault, ProjectId};

/// A module of a project's schema, including search, in this program's version.
#[derive(Debug, Clone, Copy)]
pub struct Module {
    /// Its name.
    pub name: &'static str,
    /// The newest version of its tables.
    pub version: i32,
    migrations: &'static [Migration],
}

impl Module {
    /// The module with this name, if the program has it.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let search = postgres::Module { name: "search", migrations: SEARCH };
        let known = MODULES.iter().chain([&search]).find(|module| module.name == name)?;
        Some(Self { name: known.name, version: newest(known.migrations), migrations: known.migrations })
    }

    /// Its tables, each after the tables that it references.
    #[must_use]
    pub fn tables(&self) -> Vec<&'static str> {
        tables_of(self.migrations)
    }
}

/// A column: its name and its type, as Postgres formats it.
pub type Column = (String, String);

/// An export in progress, which reads from one snapshot.
pub struct Export {
    tx: ProjectTx,
    /// The modules of the project.
    pub modules: Vec<Module>,
}

impl Export {
    /// Takes the snapshot; the export does not contain later writes. Tables of modules that an older program created are migrated first.
    ///
    /// # Errors
    /// `ILLEGAL_STATE` if a module's tables are not of this program's version; storage faults.
    pub async fn begin(store: &Store, project: &Project) -> Result<Self, Fault> {
        for module in MODULES {
            has_module(store, project, module).await?;
        }
        let mut control = store.control_read().await?;
        let mut found = modules::list(&mut control, project.id()).await?;
        let version = projects::find(&mut control, project.id(), project.decided_by()).await?;
        control.commit().await?;
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

    /// The columns of a table and its number of rows.
    pub async fn describe(&mut self, table: &'static str) -> Result<(Vec<Column>, u64), Fault> {
        let schema = self.tx.project().schema().clone();
        let columns = sql(COLUMNS).bind(schema.as_str().to_owned()).bind(table);
        let columns = self.tx.tx.all(columns).await?;
        let columns = columns.iter().map(column).collect::<Result<Vec<Column>, Fault>>()?;
        let count = format!("SELECT count(*) FROM {}", schema.table(table));
        let rows: i64 = self.tx.tx.scalar(sql(count)).await?;
        Ok((columns, rows.unsigned_abs()))
    }

    /// Sends the rows of a table in Postgres' binary COPY format.
    ///
    /// # Errors
    /// `CANCELLED` if the receiver was dropped; storage faults.
    pub async fn send(
        &mut self,
        table: &'static str,
        columns: &[Column],
        to: &mpsc::Sender<Vec<u8>>,
    ) -> Result<(), Fault> {
        let text = format!("COPY {} ({}) TO STDOUT (FORMAT binary)", self.tx.table(table), quoted(columns));
        self.tx.tx.copy_out(&text, to).await
    }

    /// Releases the snapshot.
    pub async fn finish(self) -> Result<(), Fault> {
        self.tx.commit().await
    }
}

/// An import in progress. Nothing remains of it if it is dropped before [`Import::publish`].
pub struct Import {
    control: ControlTx,
    id: ProjectId,
    schema: SchemaName,
    model: ModelFacts,
    modules: Vec<Module>,
    database: String,
    may_create_roles: bool,
}

impl Import {
    /// Creates the schema and its empty tables.
    ///
    /// # Errors
    /// `ILLEGAL_STATE` if the project exists already; `PERMISSION_DENIED` if the login may not create schemas; storage faults.
    pub async fn begin(
        store: &Store,
        id: &ProjectId,
        model: &ModelFacts,
        modules: Vec<Module>,
    ) -> Result<Self, Fault> {
        let mut control = ControlTx { tx: store.database().begin(Pool::Ddl).await? };
        lock(&mut control, id).await?;
        let schema = SchemaName::new(id);
        let query = sql("SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1)");
        let schema_exists: bool = control.tx.scalar(query.bind(schema.as_str())).await?;
        if schema_exists || projects::state(&mut control, id).await?.is_some() {
            let message = format!("There is a project `{id}` already.");
            return Err(Fault::new(ErrorCode::IllegalState, message)
                .with_hint("Give another name with --project, or delete that project first."));
        }
        control.tx.lift_timeout().await?;
        make_schema(&mut control, id, &schema).await?;
        for module in &modules {
            migrate(&mut control, &schema, module.migrations, 0, model).await?;
        }
        let facts = store.database().facts();
        let (database, may_create_roles) = (facts.database.clone(), facts.may_create_roles);
        Ok(Self {
            control,
            id: id.clone(),
            schema,
            model: model.clone(),
            modules,
            database,
            may_create_roles,
        })
    }

    /// The columns of a table as this program's migrations create it.
    pub async fn columns(&mut self, table: &'static str) -> Result<Vec<Column>, Fault> {
        let rows = self.control.tx.all(sql(COLUMNS).bind(self.schema.as_str()).bind(table)).await?;
        rows.iter().map(column).collect()
    }

    /// Inserts rows in Postgres' binary COPY format; returns their number.
    ///
    /// # Errors
    /// The sender's fault; `DOWNLOAD_VERIFY_FAILED` if they are not rows of this table; storage faults.
    pub async fn receive(
        &mut self,
        table: &'static str,
        columns: &[Column],
        from: &mut mpsc::Receiver<Result<Vec<u8>, Fault>>,
    ) -> Result<u64, Fault> {
        let table = self.schema.table(table);
        // The archive also contains the rows that the migrations inserted.
        self.control.tx.execute(sql(format!("DELETE FROM {table}"))).await?;
        let text = format!("COPY {table} ({}) FROM STDIN (FORMAT binary)", quoted(columns));
        self.control.tx.copy_in(&text, from).await
    }

    /// Validates the imported rows, sets the repositories' `roots` (by name), analyses the tables, and publishes the project.
    /// The first index run builds its indexes. Also returns the names of the repositories without a root.
    ///
    /// # Errors
    /// `ARCHIVE_UNSAFE` for rows that an index run would not write; `INVALID_REQUEST` for a root of a repository that the
    /// archive does not have; storage faults.
    pub async fn publish(
        mut self,
        roots: &BTreeMap<String, String>,
    ) -> Result<(Project, Vec<String>), Fault> {
        let text = format!(
            "UPDATE {} \
             SET fence = 0, terms_indexed = false, vectors_indexed = false, embedded_to = 0 \
             WHERE id = 1",
            self.schema.table("index_state")
        );
        if self.control.tx.execute(sql(text)).await? != 1 {
            return Err(Fault::new(ErrorCode::DownloadVerifyFailed, "The archive holds no index state."));
        }
        let tables: Vec<&str> = self.modules.iter().flat_map(Module::tables).collect();
        if tables.contains(&"launch_runs") {
            // Fence tokens are those of the database that the archive comes from; here they may be larger than any to come.
            let text = format!("UPDATE {} SET fence = 0", self.schema.table("launch_runs"));
            self.control.tx.execute(sql(text)).await?;
        }
        import_checks::check(&mut self.control, &self.schema, &tables).await?;
        let without_root = import_checks::assign_roots(&mut self.control, &self.schema, roots).await?;
        for table in tables {
            self.control.tx.execute(sql(format!("ANALYZE {}", self.schema.table(table)))).await?;
        }
        let role = match self.may_create_roles {
            true => make_role(&mut self.control, &self.database, &self.id, &self.schema).await?,
            false => None,
        };
        for module in &self.modules {
            if module.name == "search" {
                projects::publish(&mut self.control, &self.id, role.as_deref(), &self.model, module.version)
                    .await?;
            } else {
                modules::publish(&mut self.control, &self.id, module.name, module.version).await?;
            }
        }
        self.control.commit().await?;
        Ok((Project::new(self.id, role, DecidedBy::Argument, self.model), without_root))
    }
}

/// Decodes a row of [`COLUMNS`].
fn column(row: &Row) -> Result<Column, Fault> {
    Ok((row.try_get("name")?, row.try_get("type")?))
}

const COLUMNS: &str = "SELECT a.attname::text AS name, pg_catalog.format_type(a.atttypid, \
      a.atttypmod) AS type \
    FROM pg_catalog.pg_attribute a \
    JOIN pg_catalog.pg_class c ON c.oid = a.attrelid \
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
    WHERE n.nspname = $1 AND c.relname = $2 AND a.attnum > 0 AND NOT a.attisdropped \
    ORDER BY a.attname";

/// The quoted names of columns, separated by commas.
fn quoted(columns: &[Column]) -> String {
    let names: Vec<String> = columns.iter().map(|(name, _)| postgres::quoted(name)).collect();
    names.join(", ")
}
