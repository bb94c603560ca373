//! `GET /administration`: shows the health of the server, its projects, and the size of one.

use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::json;

use super::super::data::{Answered, Asker, PageError};
use super::super::layout::Frame;
use super::super::parameters::{self, Parameters};
use super::super::table::table;
use super::super::text::{bytes, message, moment};
use super::super::{failure, repositories};
use super::tabs;
use crate::http::query::SentQuery;

pub(in super::super) use super::super::paths::ADMINISTRATION as PATH;

/// The answer of `check_status`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Health {
    version: String,
    uptime_ms: u64,
    healthy: bool,
    database: Option<Database>,
    model: Option<Model>,
    issues: Vec<Issue>,
}

#[derive(Debug, Deserialize)]
struct Database {
    kind: String,
    version: String,
    pgvector: String,
}

#[derive(Debug, Deserialize)]
struct Model {
    id: String,
    variant: String,
}

#[derive(Debug, Deserialize)]
struct Issue {
    message: String,
    hint: Option<String>,
}

/// The answer of `config_status`.
#[derive(Debug, Deserialize)]
struct Settings {
    warnings: Vec<SettingWarning>,
}

#[derive(Debug, Deserialize)]
struct SettingWarning {
    message: String,
}

/// The answer of `report_artifacts`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sizes {
    total_bytes: u64,
    tables: Vec<TableSize>,
    vectors: i64,
    vectors_pending: i64,
    vectors_orphaned: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TableSize {
    name: String,
    bytes: u64,
    index_bytes: u64,
}

/// The answer of `workspace_status`.
#[derive(Debug, Deserialize)]
struct Workspaces {
    projects: Vec<Workspace>,
}

#[derive(Debug, Deserialize)]
struct Workspace {
    project_id: Option<String>,
    created_at: String,
    repositories: Vec<Repository>,
}

#[derive(Debug, Deserialize)]
struct Repository {
    files: i64,
    chunks: i64,
}

/// `GET /administration`.
pub(in super::super) async fn show(asker: Asker, sent: SentQuery) -> Response {
    let project = match Parameters::read(&asker, sent, &[]) {
        Ok(parameters) => parameters.project,
        Err(error) => return failure::page(&asker, asker.default_project(), PATH, &error),
    };
    let of_project = json!({ "project_id": project });
    let settings = match asker.tool::<Settings>("config_status", of_project.clone()).await {
        Ok(answered) => answered.result.warnings,
        Err(error) if error.is_unindexed() => Vec::new(),
        Err(error) => return failure::page(&asker, &project, PATH, &error),
    };
    let (health, sizes, workspaces) = tokio::join!(
        asker.tool::<Health>("check_status", json!({})),
        asker.tool::<Sizes>("report_artifacts", of_project),
        asker.tool::<Workspaces>("workspace_status", json!({})),
    );
    let frame = Frame { section: PATH, ..Frame::new(&asker, &project, "Administration") };
    let content = html! {
        h1 { "Administration" }
        (tabs(&asker, PATH))
        h2 { "Health" }
        (shown(health, |health| self::health(health, &settings)))
        h2 { "Projects" }
        (shown(workspaces, |found| projects(&found.projects)))
        h2 { "Size of the project " bdi { (project) } }
        (shown(sizes, self::sizes))
    };
    frame.respond(StatusCode::OK, &content)
}

/// Renders a part of the page, or the reason why it is missing.
fn shown<T>(answered: Result<Answered<T>, PageError>, show: impl Fn(&T) -> Markup) -> Markup {
    match answered {
        Ok(answered) => show(&answered.result),
        Err(error) if error.is_unindexed() => html! { p.dim { "Nothing is indexed here yet." } },
        Err(error) => failure::note(&error),
    }
}

fn health(health: &Health, warnings: &[SettingWarning]) -> Markup {
    html! {
        p {
            strong { @if health.healthy { "Healthy" } @else { "Needs attention" } }
            " · version " (health.version) " · up for " (uptime(health.uptime_ms))
        }
        @if let Some(Database { kind, version, pgvector }) = &health.database {
            p { "PostgreSQL " (version) " (" (kind) "), pgvector " (pgvector) }
        }
        @if let Some(Model { id, variant }) = &health.model { p { "Embeds with " (id) " (" (variant) ")" } }
        @for issue in &health.issues {
            div.note.bad {
                p { (message(&issue.message)) }
                @if let Some(hint) = &issue.hint { p.dim { (message(hint)) } }
            }
        }
        @for warning in warnings { p.note { (message(&warning.message)) } }
        p.dim { "On the machine of the server, " code { "pairofcleats doctor" } " examines more and says how to mend it." }
    }
}

fn uptime(millis: u64) -> String {
    let minutes = millis / 60_000;
    match (minutes / (24 * 60), minutes / 60 % 24, minutes % 60) {
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

fn projects(projects: &[Workspace]) -> Markup {
    let head = html! {
        th scope="col" { "Project" } th.number scope="col" { "Repositories" } th.number scope="col" { "Files" }
        th.number scope="col" { "Chunks" } th scope="col" { "Since" } th scope="col" { span.unseen { "Sizes" } }
    };
    html! {
        @if projects.is_empty() {
            p.dim { "There are no projects yet: the first index run creates one." }
        } @else {
            (table("Projects", &head, &html! { @for project in projects { (row(project)) } }))
        }
    }
}

fn row(project: &Workspace) -> Markup {
    let id = project.project_id.as_deref().unwrap_or("default");
    let total = |pick: fn(&Repository) -> i64| project.repositories.iter().map(pick).sum::<i64>();
    html! {
        tr {
            th scope="row" { a href=(repositories::url(id)) { bdi { (id) } } }
            td.number { (project.repositories.len()) }
            td.number { (total(|repository| repository.files)) }
            td.number { (total(|repository| repository.chunks)) }
            td { (moment(&project.created_at)) }
            td { a href=(parameters::url(PATH, id, &[])) { "Sizes" } }
        }
    }
}

fn sizes(sizes: &Sizes) -> Markup {
    let mut tables: Vec<&TableSize> = sizes.tables.iter().collect();
    tables.sort_by_key(|table| std::cmp::Reverse(table.bytes + table.index_bytes));
    let head = html! { th scope="col" { "Table" } th.number scope="col" { "Rows" } th.number scope="col" { "Indexes" } };
    let rows = html! {
        @for table in tables {
            tr {
                th scope="row" { code { (table.name) } }
                td.number { (bytes(table.bytes)) }
                td.number { (bytes(table.index_bytes)) }
            }
        }
    };
    html! {
        p {
            (bytes(sizes.total_bytes)) " in tables, indexes and files · " (sizes.vectors) " vectors"
            @if sizes.vectors_pending > 0 { " · " (sizes.vectors_pending) " texts have none yet" }
            @if sizes.vectors_orphaned > 0 { " · " (sizes.vectors_orphaned) " that no text uses" }
        }
        details {
            summary { "Tables" }
            (table("Tables", &head, &rows))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uptimes_are_short() {
        for (millis, text) in
            [(0, "0 min"), (61_000, "1 min"), (3_660_000, "1 h 1 min"), (90_000_000, "1 d 1 h")]
        {
            assert_eq!(uptime(millis), text);
        }
    }
}
