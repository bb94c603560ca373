//! `projects`: the workspaces and what they hold; the end of one, and its way into a file and out of it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::{BufRead, IsTerminal, Write as _};
use std::path::PathBuf;

use clap::Subcommand;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::bars::Bar;
use super::output::{BOLD, DIM, GOOD, NOTE, styled};
use super::project_model;
use super::rebuild;
use super::session::{Exit, Ran, Session, StopSignal, Stopped};
use crate::surfaces::answer;
use crate::tools::Progress;
use contract::clock::iso_millis;
use contract::{ErrorCode, Fault, ProjectId, visible_line};
use store::DecidedBy;
use tenancy::{self, AllowedRoots};
use upkeep::archive::{self, Settings};
use upkeep::deletion::{self, Deleted};

/// Arguments of `projects`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List them
    List,
    /// Give a project another model: all of it is embedded again
    Model(project_model::Args),
    /// Make a project's index anew from its repositories, also where the database's files are damaged
    Rebuild(rebuild::Args),
    /// Delete a project with everything in it: index, records, files, database role
    Delete {
        /// The project; `default` is the default workspace
        #[arg(value_parser = project)]
        id: ProjectId,
        /// Do not ask
        #[arg(long)]
        yes: bool,
        /// Also while it is being indexed: stop the runs and wait for them
        #[arg(long)]
        force: bool,
    },
    /// Write a project into a file that `import` takes, here or elsewhere
    Export {
        /// The project; `default` is the default workspace
        #[arg(value_parser = project)]
        id: ProjectId,
        /// A new file
        file: PathBuf,
    },
    /// Make a project of a file that `export` wrote
    Import {
        /// The file
        file: PathBuf,
        /// Its name here [default: the one it had]
        #[arg(long, value_name = "ID", value_parser = project)]
        project: Option<ProjectId>,
        /// Where a repository of it lies here, again for each: its files are read from there. Without a place it is searched
        /// as it was exported
        #[arg(long, value_name = "NAME=DIR", value_parser = placed)]
        root: Vec<(String, PathBuf)>,
    },
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: Args) -> Ran {
    match args.action {
        None | Some(Action::List) => {
            let called = session.call("workspace_status", &Map::new(), Progress::default()).await;
            Ok(session.output.answer(&called, render))
        }
        Some(Action::Rebuild(args)) => rebuild::run(session, &args).await,
        Some(Action::Model(args)) => project_model::run(session, &args).await,
        Some(Action::Delete { id, yes, force }) => delete(session, &id, yes, force).await,
        Some(Action::Export { id, file }) => export(session, &id, file).await,
        Some(Action::Import { file, project, root }) => import(session, file, project, root).await,
    }
}

async fn delete(session: &Session, id: &ProjectId, yes: bool, force: bool) -> Ran {
    if !yes {
        confirm(id).map_err(Stopped::not_run)?;
    }
    let app = &session.app;
    let deleted = deletion::delete(app.store().await?, &app.layout, &app.config.upkeep, id, force).await?;
    Ok(print(session, &deleted, &told(&deleted)))
}

/// Has the project's name typed, so that a slip of the hand deletes nothing.
fn confirm(id: &ProjectId) -> Result<(), Fault> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Err(Fault::new(
            ErrorCode::InvalidInput,
            format!("`{id}` was not deleted: that asks for confirmation, and this is not a terminal."),
        )
        .with_hint("Add --yes to delete it without being asked."));
    }
    let mut shown = anstream::stderr();
    let asked =
        write!(shown, "This deletes the project `{id}` with everything in it. Type its name to go on: ");
    let mut typed = String::new();
    let read = asked.and_then(|()| shown.flush()).and_then(|()| stdin.lock().read_line(&mut typed));
    if read.is_ok() && typed.trim() == id.as_str() {
        return Ok(());
    }
    Err(Fault::new(ErrorCode::InvalidInput, "Nothing was deleted: that is not its name."))
}

fn told(deleted: &Deleted) -> String {
    let Deleted { project_id, schema_name, role, jobs, files, file_bytes, keys, .. } = deleted;
    let role = role.as_ref().map_or(String::new(), |role| format!(", the role {role}"));
    let mut shown = format!(
        "{} {} is gone: the schema {schema_name}{role}, {jobs} runs, {files} files ({file_bytes} bytes). Nothing is left of it.\n",
        styled(GOOD, "✓"),
        styled(BOLD, project_id),
    );
    if !keys.is_empty() {
        let text =
            format!("API keys that name it stay: {}. Revoke them with `keys revoke`.", keys.join(", "));
        let _ = writeln!(shown, "  {}", styled(NOTE, &text));
    }
    shown
}

async fn export(session: &Session, id: &ProjectId, file: PathBuf) -> Ran {
    let app = &session.app;
    let store = app.store().await?;
    let project = tenancy::open(store, id, DecidedBy::Argument).await?.ok_or_else(tenancy::no_index)?;
    let now = iso_millis(app.clock.now());
    let done = cancellable(session, async |cancel, on_table| {
        archive::export(store, &project, &file, now, cancel, on_table).await
    })
    .await?;
    let text = format!(
        "{} {}: {} rows of {} tables in {} ({} bytes)\n",
        styled(GOOD, "✓"),
        styled(BOLD, id.as_str()),
        done.rows,
        done.tables,
        visible_line(&file.to_string_lossy()),
        done.bytes
    );
    Ok(print(session, &done, &text))
}

/// `NAME=DIR`.
fn placed(text: &str) -> Result<(String, PathBuf), String> {
    let (name, directory) = text.split_once('=').ok_or("write it as NAME=DIR")?;
    let directory = std::path::absolute(directory).map_err(|error| error.to_string())?;
    Ok((name.to_owned(), directory))
}

async fn import(
    session: &Session,
    file: PathBuf,
    id: Option<ProjectId>,
    roots: Vec<(String, PathBuf)>,
) -> Ran {
    let config = &session.app.config;
    let allowed = match &id {
        Some(id) => AllowedRoots::of_project(&config.indexing, id),
        None => AllowedRoots::common(&config.indexing),
    };
    let place =
        |(name, directory): (String, PathBuf)| Ok((name, allowed.check(&directory)?.as_str().to_owned()));
    let places = roots.into_iter().map(place).collect::<Result<BTreeMap<_, _>, Fault>>()?;
    let settings = Settings {
        bytes_max: config.upkeep.import_bytes_max,
        hnsw_rows_min: config.indexing.hnsw_rows_min,
        maintenance_work_mem_mb: config.embedded.maintenance_work_mem_mb,
    };
    let store = session.app.store().await?;
    let done = cancellable(session, async |cancel, on_table| {
        archive::import(store, &file, id, &places, settings, cancel, on_table).await
    })
    .await?;
    let mut text = format!(
        "{} {}: {} rows, exported as {} at {}\n",
        styled(GOOD, "✓"),
        styled(BOLD, &done.project_id),
        done.rows,
        visible_line(&done.exported_as),
        visible_line(&done.exported_at),
    );
    if !done.repositories_without_folder.is_empty() {
        let names: Vec<_> = done.repositories_without_folder.iter().map(|name| visible_line(name)).collect();
        let note = format!(
            "Searched as exported, without a folder here: {}. Import with --root NAME=DIR to give one its folder; to index that folder afterwards makes a second repository, and each hit comes twice.",
            names.join(", ")
        );
        let _ = writeln!(text, "  {}", styled(NOTE, &note));
    }
    Ok(print(session, &done, &text))
}

/// Does long work under a progress line; Ctrl-C stops it where nothing is left half-made.
async fn cancellable<T>(
    session: &Session,
    work: impl AsyncFnOnce(&CancellationToken, &(dyn Fn(&str) + Sync)) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let (cancel, bar, mut stop) = (CancellationToken::new(), Bar::new(session.output), StopSignal::install());
    let on_table = |table: &str| bar.step(table);
    let mut done = std::pin::pin!(work(&cancel, &on_table));
    let ended = tokio::select! {
        ended = &mut done => ended,
        () = stop.received() => {
            cancel.cancel();
            done.await
        }
    };
    bar.finish();
    ended
}

fn print(session: &Session, result: &impl Serialize, text: &str) -> Exit {
    if session.output.json {
        let result = serde_json::to_value(result).unwrap_or_default();
        session.output.line(&answer::json(&answer::succeeded(&session.app, result, None)).to_string());
    } else {
        session.output.text(text);
    }
    Exit::Ok
}

pub(super) fn project(text: &str) -> Result<ProjectId, String> {
    ProjectId::parse(text).map_err(|error| error.constraint.to_owned())
}

/// The parts of a `workspace_status` result that people read.
#[derive(Debug, Default, Deserialize)]
struct Workspaces {
    projects: Vec<Workspace>,
}

#[derive(Debug, Deserialize)]
struct Workspace {
    project_id: Option<String>,
    schema_name: String,
    #[serde(default)]
    repositories: Vec<Repository>,
}

#[derive(Debug, Deserialize)]
struct Repository {
    name: String,
    state: String,
    files: i64,
    chunks: i64,
}

fn render(result: &Value) -> String {
    let workspaces = Workspaces::deserialize(result).unwrap_or_default();
    if workspaces.projects.is_empty() {
        return "No projects yet; `pairofcleats index PATH --project ID` makes one.\n".to_owned();
    }
    let mut shown = String::new();
    for project in workspaces.projects {
        let id = project.project_id.as_deref().unwrap_or("default");
        let _ = writeln!(shown, "{}  {}", styled(BOLD, &visible_line(id)), styled(DIM, &project.schema_name));
        for Repository { name, state, files, chunks } in project.repositories {
            let counts = styled(DIM, &format!("{state}, {files} files, {chunks} chunks"));
            let _ = writeln!(shown, "  {}  {counts}", visible_line(&name));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_read_as_lines() {
        let shown = render(&serde_json::json!({ "projects": [
            { "project_id": null, "schema_name": "project_default", "repositories": [
                { "name": "app", "state": "ready", "files": 3, "chunks": 9 }
            ] },
            { "project_id": "client-a", "schema_name": "project_client_a", "repositories": [] },
        ] }));
        let shown = anstream::adapter::strip_str(&shown).to_string();
        assert_eq!(
            shown,
            "default  project_default\n  app  ready, 3 files, 9 chunks\nclient-a  project_client_a\n"
        );
        assert!(render(&Value::Null).starts_with("No projects"));
    }
}
