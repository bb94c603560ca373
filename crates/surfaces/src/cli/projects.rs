//! `projects`: lists, deletes, exports and imports projects.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use clap::Subcommand;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::cancellable::cancellable;
use super::flags::{address_or_absolute, parse_project_id};
use super::output::{BOLD, DIM, GOOD, NOTE, styled};
use super::project_model;
use super::prompt;
use super::rebuild;
use super::session::{CommandError, CommandResult, Session};
use contract::clock::iso_millis;
use contract::{ErrorCode, Fault, ProjectId, escaped_line};
use gate::tools::Progress;
use tenancy::{self, AllowedRoots};
use upkeep::archive::{self, ImportSettings};
use upkeep::retention::{self, DeletedProject};

/// Arguments of `projects`.
#[derive(Debug, clap::Args)]
pub(super) struct ProjectsArgs {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List projects and their repositories
    List,
    /// Change the embedding model of a project, which embeds everything again
    Model(project_model::ProjectModelArgs),
    /// Rebuild the index of a project from its repositories, even if database files are damaged
    Rebuild(rebuild::RebuildArgs),
    /// Delete a project and everything in it: index, records, files, database role
    Delete {
        /// Project ID; `default` is the default workspace
        #[arg(value_parser = parse_project_id)]
        id: ProjectId,
        /// Do not ask for confirmation
        #[arg(long)]
        yes: bool,
        /// Delete even while the project is being indexed: stop the runs and wait for them
        #[arg(long)]
        force: bool,
    },
    /// Export a project to a file that `import` reads, on this machine or another
    Export {
        /// Project ID; `default` is the default workspace
        #[arg(value_parser = parse_project_id)]
        id: ProjectId,
        /// File to create
        file: PathBuf,
    },
    /// Create a project from a file that `export` wrote
    Import {
        /// File to import
        file: PathBuf,
        /// ID of the new project [default: the exported ID]
        #[arg(long, value_name = "ID", value_parser = parse_project_id)]
        project: Option<ProjectId>,
        /// Folder of a repository on this machine, or its address; repeatable. A repository without one is searchable as exported but
        /// cannot be refreshed
        #[arg(long, value_name = "NAME=DIR|URL", value_parser = parse_root)]
        root: Vec<(String, PathBuf)>,
    },
}

/// Entry point of `projects`.
pub(super) async fn manage_projects(session: &Session, args: ProjectsArgs) -> CommandResult {
    match args.action {
        None | Some(Action::List) => {
            let called = session.call("workspace_status", &Map::new(), Progress::default()).await;
            Ok(session.output.answer(&called, render))
        }
        Some(Action::Rebuild(args)) => rebuild::rebuild_project(session, &args).await,
        Some(Action::Model(args)) => project_model::change_project_model(session, &args).await,
        Some(Action::Delete { id, yes, force }) => delete_project(session, &id, yes, force).await,
        Some(Action::Export { id, file }) => export_project(session, &id, file).await,
        Some(Action::Import { file, project, root }) => import_project(session, file, project, root).await,
    }
}

async fn delete_project(session: &Session, id: &ProjectId, yes: bool, force: bool) -> CommandResult {
    if !yes {
        confirm_deletion(id).map_err(CommandError::not_run)?;
    }
    let app = &session.app;
    let deleted =
        retention::delete_project(app.store().await?, &app.layout, &app.config.upkeep, id, force).await?;
    Ok(session.print_result(&deleted, &render_deletion(&deleted)))
}

/// Asks the user to type the project's name, to prevent accidental deletion.
fn confirm_deletion(id: &ProjectId) -> Result<(), Fault> {
    if !prompt::can_ask() {
        return Err(Fault::new(
            ErrorCode::InvalidInput,
            format!("`{id}` was not deleted: deleting asks for confirmation, and stdin is not a terminal."),
        )
        .with_hint("Add --yes to delete without confirmation."));
    }
    let question =
        format!("This deletes the project `{id}` and everything in it. Type its name to continue: ");
    if prompt::ask(&question).is_ok_and(|typed| typed == id.as_str()) {
        return Ok(());
    }
    Err(Fault::new(ErrorCode::InvalidInput, "Nothing was deleted: the name does not match."))
}

fn render_deletion(deleted: &DeletedProject) -> String {
    let DeletedProject { project_id, schema_name, role, jobs, files, file_bytes, keys, .. } = deleted;
    let role = role.as_ref().map_or(String::new(), |role| format!(", the role {role}"));
    let mut shown = format!(
        "{} Deleted {}: the schema {schema_name}{role}, {jobs} runs and {files} files ({file_bytes} bytes)\n",
        styled(GOOD, "✓"),
        styled(BOLD, project_id),
    );
    if !keys.is_empty() {
        let text =
            format!("API keys for this project remain: {}. Revoke them with `keys revoke`.", keys.join(", "));
        let _ = writeln!(shown, "  {}", styled(NOTE, &text));
    }
    shown
}

async fn export_project(session: &Session, id: &ProjectId, file: PathBuf) -> CommandResult {
    let app = &session.app;
    let store = app.store().await?;
    let project = tenancy::require(store, id).await?;
    let now = iso_millis(app.clock.now());
    let done = cancellable(session, async |cancel, on_table| {
        archive::export_project(store, &project, &file, now, cancel, on_table).await
    })
    .await?;
    let text = format!(
        "{} Exported {}: {} rows from {} tables to {} ({} bytes)\n",
        styled(GOOD, "✓"),
        styled(BOLD, id.as_str()),
        done.rows,
        done.tables,
        escaped_line(&file.to_string_lossy()),
        done.bytes
    );
    Ok(session.print_result(&done, &text))
}

/// Parses `NAME=DIR` or `NAME=URL`; makes a directory absolute.
fn parse_root(text: &str) -> Result<(String, PathBuf), String> {
    let (name, root) = text.split_once('=').ok_or("write it as NAME=DIR or NAME=URL")?;
    Ok((name.to_owned(), address_or_absolute(root)?.into()))
}

async fn import_project(
    session: &Session,
    file: PathBuf,
    id: Option<ProjectId>,
    roots: Vec<(String, PathBuf)>,
) -> CommandResult {
    let config = &session.app.config;
    let directories_for = |id: &ProjectId| {
        let allowed = AllowedRoots::for_project(&config.indexing, id);
        let check_root =
            |(name, directory): (String, PathBuf)| Ok((name, allowed.check(&directory)?.as_str().to_owned()));
        roots.into_iter().map(check_root).collect::<Result<BTreeMap<_, _>, Fault>>()
    };
    let settings = ImportSettings {
        bytes_max: config.upkeep.import_bytes_max,
        hnsw_rows_min: config.indexing.hnsw_rows_min,
        maintenance_work_mem_mb: config.embedded.maintenance_work_mem_mb,
    };
    let store = session.app.store().await?;
    let done = cancellable(session, async |cancel, on_table| {
        archive::import_project(store, &file, id, directories_for, settings, cancel, on_table).await
    })
    .await?;
    let mut text = format!(
        "{} Imported {}: {} rows, exported as {} at {}\n",
        styled(GOOD, "✓"),
        styled(BOLD, &done.project_id),
        done.rows,
        escaped_line(&done.exported_as),
        escaped_line(&done.exported_at),
    );
    if !done.repositories_without_folder.is_empty() {
        let names: Vec<_> = done.repositories_without_folder.iter().map(|name| escaped_line(name)).collect();
        let note = format!(
            "Searchable as exported, without a folder on this machine or an address: {}. To link one, import with --root NAME=DIR or NAME=URL. Indexing it later instead adds a second repository and duplicates every hit.",
            names.join(", ")
        );
        let _ = writeln!(text, "  {}", styled(NOTE, &note));
    }
    Ok(session.print_result(&done, &text))
}

/// The part of a `workspace_status` result that is printed.
#[derive(Debug, Default, Deserialize)]
struct ProjectList {
    projects: Vec<ProjectSummary>,
}

#[derive(Debug, Deserialize)]
struct ProjectSummary {
    project_id: Option<String>,
    schema_name: String,
    #[serde(default)]
    repositories: Vec<RepositorySummary>,
}

#[derive(Debug, Deserialize)]
struct RepositorySummary {
    name: String,
    state: String,
    files: i64,
    chunks: i64,
}

fn render(result: &Value) -> String {
    let workspaces = ProjectList::deserialize(result).unwrap_or_default();
    if workspaces.projects.is_empty() {
        return "No projects yet; `pairofcleats index PATH --project ID` creates one.\n".to_owned();
    }
    let mut shown = String::new();
    for project in workspaces.projects {
        let id = project.project_id.as_deref().unwrap_or("default");
        let _ = writeln!(shown, "{}  {}", styled(BOLD, &escaped_line(id)), styled(DIM, &project.schema_name));
        for RepositorySummary { name, state, files, chunks } in project.repositories {
            let counts = styled(DIM, &format!("{state}, {files} files, {chunks} chunks"));
            let _ = writeln!(shown, "  {}  {counts}", escaped_line(&name));
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

    #[test]
    fn a_root_is_a_directory_or_an_address() {
        let root = |text: &str| parse_root(text).map(|(name, root)| format!("{name} {}", root.display()));
        assert_eq!(root("shop=/no/such/folder").as_deref(), Ok("shop /no/such/folder"));
        assert_eq!(root("shop=https://host/acme/shop").as_deref(), Ok("shop https://host/acme/shop"));
        assert_eq!(root("shop=git@host:acme/shop").as_deref(), Ok("shop git@host:acme/shop"));
        assert!(root("shop").is_err() && root("shop=").is_err());
    }
}
