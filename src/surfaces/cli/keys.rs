//! `keys`: who may use the server from elsewhere. Works on the database itself, so it needs no running server.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

use clap::Subcommand;
use serde::Serialize;

use super::output::{BOLD, DIM, styled};
use super::session::{Exit, Ran, Session, Stopped};
use crate::surfaces::answer;
use contract::clock::iso_from_millis;
use contract::visible_line;
use contract::{ErrorCode, Fault, ProjectId};
use store::{DecidedBy, KeyRow};
use tenancy::{self, NewKey, Projects, Scope};

/// Arguments of `keys`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a key and print it, this once
    Create(Create),
    /// List the keys, without their secrets
    List,
    /// Make a key stop to work
    Revoke {
        /// The id that `keys list` shows
        id: String,
    },
}

#[derive(Debug, clap::Args)]
struct Create {
    /// What you call it: who will use it, and from where
    #[arg(long)]
    name: String,
    /// A project it may use; again for each. `default` is the workspace of calls that name none
    #[arg(long, value_name = "ID", required_unless_present = "all_projects", conflicts_with = "all_projects", value_parser = project)]
    project: Vec<ProjectId>,
    /// It may use every project, also those made later
    #[arg(long)]
    all_projects: bool,
    /// What it may do: search, index, triage, admin
    #[arg(long, value_name = "SCOPE,…", value_delimiter = ',', default_value = "search", value_parser = scope)]
    scopes: Vec<Scope>,
    /// How long it works: 12h, 90d, 52w or never
    #[arg(long, value_name = "TIME", default_value = "90d", value_parser = lifetime)]
    expires: Lifetime,
    /// Calls a minute [default: access.calls_per_minute]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    calls_per_minute: Option<u32>,
    /// A directory below which it may index, again for each [default: those of the project, indexing.project_roots]
    #[arg(long, value_name = "DIR", value_parser = directory)]
    root: Vec<PathBuf>,
}

/// Milliseconds; None: for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Lifetime(Option<i64>);

/// The answer to `keys create`.
#[derive(Debug, Serialize)]
struct Made {
    id: String,
    /// The key itself; it is not kept.
    key: String,
    /// Projects that it names and that do not exist yet.
    #[serde(rename = "projectsAbsent", skip_serializing_if = "Vec::is_empty")]
    projects_absent: Vec<String>,
}

/// The answer to `keys list`.
#[derive(Debug, Serialize)]
struct Listed {
    keys: Vec<Shown>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    id: String,
    name: String,
    /// live, expired or revoked.
    state: &'static str,
    /// Null: all.
    projects: Option<Vec<String>>,
    scopes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls_per_minute: Option<i32>,
    /// Null: those of its projects.
    #[serde(skip_serializing_if = "Option::is_none")]
    roots: Option<Vec<String>>,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used_at: Option<String>,
}

/// The answer to `keys revoke`.
#[derive(Debug, Serialize)]
struct Revoked {
    id: String,
}

impl From<KeyRow> for Shown {
    fn from(row: KeyRow) -> Self {
        let state = match (row.live, row.revoked_ms) {
            (true, _) => "live",
            (false, Some(_)) => "revoked",
            (false, None) => "expired",
        };
        Self {
            id: row.id,
            name: row.name,
            state,
            projects: row.projects,
            scopes: row.scopes,
            calls_per_minute: row.calls_per_minute,
            roots: row.roots,
            created_at: iso_from_millis(row.created_ms),
            expires_at: row.expires_ms.map(iso_from_millis),
            revoked_at: row.revoked_ms.map(iso_from_millis),
            last_used_at: row.last_used_ms.map(iso_from_millis),
        }
    }
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: Args) -> Ran {
    match args.action {
        Action::Create(create) => make(session, create).await,
        Action::List => list(session).await,
        Action::Revoke { id } => revoke(session, id).await,
    }
}

async fn make(session: &Session, create: Create) -> Ran {
    let name = create.name.trim().to_owned();
    if name.is_empty() || name.chars().count() > NAME_CHARS_MAX {
        let fault =
            Fault::new(ErrorCode::InvalidInput, format!("A name has 1 to {NAME_CHARS_MAX} characters."));
        return Err(Stopped::not_run(fault));
    }
    let now_ms = session.app.clock.now().as_millisecond();
    let new = NewKey {
        name,
        projects: if create.all_projects {
            Projects::All
        } else {
            Projects::These(create.project.into_iter().collect())
        },
        scopes: create.scopes.into_iter().collect::<BTreeSet<_>>(),
        calls_per_minute: create.calls_per_minute,
        roots: (!create.root.is_empty()).then_some(create.root),
        expires_ms: create.expires.0.map(|millis| now_ms.saturating_add(millis)),
    };
    let named: Vec<ProjectId> = match &new.projects {
        Projects::These(ids) => ids.iter().cloned().collect(),
        Projects::All => Vec::new(),
    };
    let mut projects_absent = Vec::new();
    for id in named {
        if tenancy::open(session.app.store().await?, &id, DecidedBy::Argument).await?.is_none() {
            projects_absent.push(id.as_str().to_owned());
        }
    }
    let issued = tenancy::issue(session.app.store().await?, new, now_ms).await?;
    session.output.note(&styled(
        DIM,
        "This is the only time the key is shown; keep it where your client keeps secrets.",
    ));
    if !projects_absent.is_empty() {
        session.output.note(&styled(
            DIM,
            &format!(
                "There is no project {} yet: it is made by the first index run into it.",
                projects_absent.join(", ")
            ),
        ));
    }
    let text = format!("{}\n", issued.secret);
    Ok(print(session, &Made { id: issued.id, key: issued.secret, projects_absent }, &text))
}

/// Longer names are cut by nothing and read by nobody.
const NAME_CHARS_MAX: usize = 100;

async fn list(session: &Session) -> Ran {
    let keys: Vec<Shown> =
        tenancy::list_keys(session.app.store().await?).await?.into_iter().map(Shown::from).collect();
    let mut text = String::new();
    for key in &keys {
        let projects = key.projects.as_ref().map_or("all projects".to_owned(), |ids| ids.join(" "));
        let expires =
            key.expires_at.as_ref().map_or("never expires".to_owned(), |at| format!("expires {at}"));
        let facts = format!("{}; {projects}; {expires}", key.scopes.join(" "));
        let _ = writeln!(
            text,
            "{}  {:<7}  {}  {}",
            styled(BOLD, &key.id),
            key.state,
            visible_line(&key.name),
            styled(DIM, &facts)
        );
    }
    if keys.is_empty() {
        text.push_str("No keys yet; `pairofcleats keys create --name NAME --project ID` makes one.\n");
    }
    Ok(print(session, &Listed { keys }, &text))
}

async fn revoke(session: &Session, id: String) -> Ran {
    let now_ms = session.app.clock.now().as_millisecond();
    tenancy::revoke(session.app.store().await?, &id, now_ms).await?;
    let seconds = session.app.config.access.key_cache_ms.div_ceil(1000);
    let text = format!("Revoked. Running servers stop to accept it within {seconds} s.\n");
    Ok(print(session, &Revoked { id }, &text))
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

fn project(text: &str) -> Result<ProjectId, String> {
    ProjectId::parse(text).map_err(|error| error.constraint.to_owned())
}

fn scope(text: &str) -> Result<Scope, String> {
    Scope::parse(text.trim())
        .ok_or_else(|| format!("the scopes are {}", Scope::ALL.map(Scope::as_str).join(", ")))
}

/// An existing directory, as an absolute path without links.
fn directory(text: &str) -> Result<PathBuf, String> {
    let path = std::fs::canonicalize(text).map_err(|error| error.to_string())?;
    match path.to_str() {
        Some(_) if path.is_dir() => Ok(path),
        Some(_) => Err("it is not a directory".to_owned()),
        None => Err("its path is not UTF-8".to_owned()),
    }
}

fn lifetime(text: &str) -> Result<Lifetime, String> {
    const HOUR: i64 = 3_600_000;
    if text == "never" {
        return Ok(Lifetime(None));
    }
    let wrong = || "write it as 12h, 90d, 52w or never".to_owned();
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let hours = match unit {
        "h" => 1,
        "d" => 24,
        "w" => 7 * 24,
        _ => return Err(wrong()),
    };
    let number: i64 = number.parse().map_err(|_| wrong())?;
    let millis =
        number.checked_mul(hours * HOUR).filter(|millis| (1..=YEARS_MAX * 366 * 24 * HOUR).contains(millis));
    millis.map(|millis| Lifetime(Some(millis))).ok_or_else(wrong)
}

/// A key that should live longer had better say `never`.
const YEARS_MAX: i64 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_have_a_unit() {
        assert_eq!(lifetime("12h"), Ok(Lifetime(Some(43_200_000))));
        assert_eq!(lifetime("90d"), Ok(Lifetime(Some(7_776_000_000))));
        assert_eq!(lifetime("never"), Ok(Lifetime(None)));
        for bad in ["", "d", "90", "0d", "-1d", "1y", "ä", "99999999999999999w"] {
            assert!(lifetime(bad).is_err(), "{bad}");
        }
    }
}
