//! Speed and memory of one project in one run: index it, index it again, edit a file, ask, and say what set each limit.
//!
//! Every phase comes with a profile (cores at work, bytes read and written), the dense leg and the embedding also with
//! what this machine does at most, measured in the same run. A run beside other work is no measurement.

mod asking;
mod corpus;
mod indexing;
mod latency;
mod limits;
mod profile;
mod wording;

use std::path::PathBuf;

use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;

use super::Lab;
use contract::{Fault, ProjectId};
use store::{Access, Project, ProjectTx, sizes};
use upkeep::deletion;

pub use asking::{Asked, Stages};
pub use indexing::{Edited, Indexed};
pub use latency::Latency;
pub use limits::Limits;
pub use profile::{Memory, Profile};

/// The project that is measured; what it held before goes.
const PROJECT: &str = "speed";

/// What is measured.
#[derive(Debug, Clone)]
pub struct Options {
    /// The files; they are copied and only read.
    pub folder: PathBuf,
    /// Questions of each kind.
    pub questions: usize,
    /// At most so many files, spread evenly; none: all.
    pub files_max: Option<usize>,
    /// Edits of one file.
    pub edits: usize,
}

/// Asks `search` over HTTP: arguments to answer.
pub type OverHttp = dyn Fn(Value) -> BoxFuture<'static, Result<Value, Fault>> + Send + Sync;

/// The result.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Model that made the vectors.
    pub model: String,
    /// Cores that the machine offers.
    pub cores: usize,
    /// Bytes of the files.
    pub bytes: u64,
    /// The first run, the one with nothing to do and the edits.
    pub indexed: Indexed,
    /// One file edited.
    pub edited: Edited,
    /// Questions by kind, each warm and distinct.
    pub asked: Vec<Asked>,
    /// Where the time of a hybrid question goes.
    pub stages: Stages,
    /// How near to what the machine does.
    pub limits: Limits,
    /// Most memory.
    pub memory: Memory,
    /// Bytes of the project's tables and indexes.
    pub project_bytes: u64,
    /// … by table, its indexes apart.
    pub tables: Vec<Table>,
}

/// A table of the project.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Table {
    /// Its name.
    pub table: String,
    /// Bytes of rows.
    pub bytes: u64,
    /// Bytes of indexes.
    pub index_bytes: u64,
}

/// Measures everything once.
///
/// # Errors
/// What the file system says; faults of runs and searches.
pub async fn measure(
    lab: &Lab,
    options: &Options,
    over_http: &OverHttp,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Report, Fault> {
    let corpus = corpus::copy(&options.folder, &lab.copies().join(PROJECT), options.files_max)?;
    begin_anew(lab).await?;
    let server = profile::Server::find(lab).await?;
    let watched = server.watch_memory();
    tell(&format!("{} files, {:.1} MB", corpus.files.len(), profile::megabytes(corpus.bytes)));

    let indexed = indexing::index(lab, &corpus, &server, tell).await?;
    let project = lab.project(PROJECT).await?;
    let edited = indexing::edit(lab, &corpus, options.edits, tell).await?;
    let asking = asking::Asking { lab, project: &project, server: &server, over_http, tell };
    let (asked, stages) = asking.all(&corpus, options.questions).await?;
    let limits = limits::measure(lab, &project, &corpus, &indexed, tell).await?;
    let (project_bytes, tables) = sizes(lab, &project).await?;
    Ok(Report {
        model: lab.model().await?,
        cores: profile::cores(),
        bytes: corpus.bytes,
        indexed,
        edited,
        asked,
        stages,
        limits,
        memory: watched.most(),
        project_bytes,
        tables,
    })
}

/// The first run is one only where nothing is left of another.
async fn begin_anew(lab: &Lab) -> Result<(), Fault> {
    let (store, id) = (lab.app.store().await?, ProjectId::parse(PROJECT)?);
    if lab.project(PROJECT).await.is_ok() {
        deletion::delete(store, &lab.app.layout, &lab.app.config.upkeep, &id, true).await?;
    }
    Ok(())
}

async fn sizes(lab: &Lab, project: &Project) -> Result<(u64, Vec<Table>), Fault> {
    let mut tx = ProjectTx::begin(lab.app.store().await?, project, Access::Search).await?;
    let tables = sizes::tables(&mut tx).await?;
    tx.commit().await?;
    let sum = tables.iter().map(|table| table.bytes + table.index_bytes).sum();
    let shown = tables.into_iter().map(|one| Table {
        table: one.table,
        bytes: one.bytes,
        index_bytes: one.index_bytes,
    });
    Ok((sum, shown.collect()))
}
