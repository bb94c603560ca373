//! `keys`: creates, lists and revokes API keys. Works on the database directly, so no server has to run.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

use clap::{ArgGroup, Subcommand};
use serde::Serialize;

use super::flags::whole_number_in;
use super::output::{BOLD, DIM, styled};
use super::projects::parse_project_id;
use super::session::{CommandError, CommandResult, Session};
use contract::clock::iso_from_millis;
use contract::escaped_line;
use contract::{ErrorCode, Fault, ProjectId};
use store::{DecidedBy, KeyRow};
use tenancy::{self, NewKey, Projects, Scope};

/// Arguments of `keys`.
#[derive(Debug, clap::Args)]
pub(super) struct KeysArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a key and print it; it is shown only once
    Create(Create),
    /// List the keys, without their secrets
    List,
    /// Revoke a key
    Revoke {
        /// Key ID, as `keys list` shows it
        id: String,
    },
}

#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("projects").args(["project", "all_projects"]).required(true))]
struct Create {
    /// Name of the key, for example who uses it and from where
    #[arg(long)]
    name: String,
    /// Project that the key may use; repeatable. `default` is the workspace for calls that name none
    #[arg(long, value_name = "ID", value_parser = parse_project_id)]
    project: Vec<ProjectId>,
    /// Allow every project, including future ones
    #[arg(long)]
    all_projects: bool,
    /// Scopes of the key: search, index, triage, admin, instructions, curate
    #[arg(long, value_name = "SCOPE,…", value_delimiter = ',', default_value = "search", value_parser = parse_scope)]
    scopes: Vec<Scope>,
    /// Lifetime: 12h, 90d, 52w or never
    #[arg(long, value_name = "TIME", default_value = "90d", value_parser = parse_lifetime)]
    expires: Lifetime,
    /// Rate limit in calls per minute [default: access.calls_per_minute]
    #[arg(long, value_name = "N", value_parser = parse_rate)]
    calls_per_minute: Option<u32>,
    /// Directory that the key may index, with everything below it; repeatable [default: the project's directories, indexing.project_roots]
    #[arg(long, value_name = "DIR", value_parser = parse_directory)]
    root: Vec<PathBuf>,
}

/// In milliseconds; none means that the key never expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Lifetime(Option<i64>);

/// The result of `keys create`.
#[derive(Debug, Serialize)]
struct CreatedKey {
    id: String,
    /// The secret; only its hash is stored.
    key: String,
    /// Projects that the key names and that do not exist yet.
    #[serde(rename = "projectsAbsent", skip_serializing_if = "Vec::is_empty")]
    projects_absent: Vec<String>,
}

/// The result of `keys list`.
#[derive(Debug, Serialize)]
struct KeyList {
    keys: Vec<KeySummary>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct KeySummary {
    id: String,
    name: String,
    /// `live`, `expired` or `revoked`.
    state: &'static str,
    /// Null: all projects.
    projects: Option<Vec<String>>,
    scopes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls_per_minute: Option<i32>,
    /// Directories that it may index; null: those of its projects.
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

/// The result of `keys revoke`.
#[derive(Debug, Serialize)]
struct RevokedKey {
    id: String,
}

impl From<KeyRow> for KeySummary {
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

/// Entry point of `keys`.
pub(super) async fn manage_keys(session: &Session, args: KeysArgs) -> CommandResult {
    match args.action {
        Action::Create(create) => create_key(session, create).await,
        Action::List => list_keys(session).await,
        Action::Revoke { id } => revoke_key(session, id).await,
    }
}

async fn create_key(session: &Session, create: Create) -> CommandResult {
    let name = create.name.trim().to_owned();
    if name.is_empty() || name.chars().count() > NAME_CHARS_MAX {
        let fault = Fault::new(
            ErrorCode::InvalidInput,
            format!("A name must have 1 to {NAME_CHARS_MAX} characters."),
        );
        return Err(CommandError::not_run(fault));
    }
    let now_ms = session.app.clock.now().as_millisecond();
    let new = NewKey {
        name,
        projects: if create.all_projects {
            Projects::All
        } else {
            Projects::Only(create.project.into_iter().collect())
        },
        scopes: create.scopes.into_iter().collect::<BTreeSet<_>>(),
        calls_per_minute: create.calls_per_minute,
        roots: (!create.root.is_empty()).then_some(create.root),
        expires_ms: create.expires.0.map(|millis| now_ms.saturating_add(millis)),
    };
    let named: Vec<ProjectId> = match &new.projects {
        Projects::Only(ids) => ids.iter().cloned().collect(),
        Projects::All => Vec::new(),
    };
    let mut projects_absent = Vec::new();
    for id in named {
        if tenancy::open(session.app.store().await?, &id, DecidedBy::Argument).await?.is_none() {
            projects_absent.push(id.as_str().to_owned());
        }
    }
    let issued = tenancy::issue_key(session.app.store().await?, new, now_ms).await?;
    session.output.print_note(&styled(
        DIM,
        "The key is shown only this once; store it where your client keeps secrets.",
    ));
    if !projects_absent.is_empty() {
        session.output.print_note(&styled(
            DIM,
            &format!(
                "Not yet created: {}. The first index run into a project creates it.",
                projects_absent.join(", ")
            ),
        ));
    }
    let text = format!("{}\n", issued.secret);
    Ok(session.print_result(&CreatedKey { id: issued.id, key: issued.secret, projects_absent }, &text))
}

/// Longest name of a key.
const NAME_CHARS_MAX: usize = 100;

async fn list_keys(session: &Session) -> CommandResult {
    let keys: Vec<KeySummary> =
        tenancy::list_keys(session.app.store().await?).await?.into_iter().map(KeySummary::from).collect();
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
            escaped_line(&key.name),
            styled(DIM, &facts)
        );
    }
    if keys.is_empty() {
        text.push_str("No keys yet; `pairofcleats keys create --name NAME --project ID` creates one.\n");
    }
    Ok(session.print_result(&KeyList { keys }, &text))
}

async fn revoke_key(session: &Session, id: String) -> CommandResult {
    let now_ms = session.app.clock.now().as_millisecond();
    tenancy::revoke_key(session.app.store().await?, &id, now_ms).await?;
    let seconds = session.app.config.access.key_cache_ms.div_ceil(1000);
    let text = format!("Revoked. Running servers stop accepting it within {seconds} s.\n");
    Ok(session.print_result(&RevokedKey { id }, &text))
}

fn parse_rate(text: &str) -> Result<u32, String> {
    whole_number_in(text, &(1..=1_000_000))
}

fn parse_scope(text: &str) -> Result<Scope, String> {
    Scope::parse(text.trim())
        .ok_or_else(|| format!("the scopes are {}", Scope::ALL.map(Scope::as_str).join(", ")))
}

/// Parses an existing directory; resolves it to an absolute path without symbolic links.
fn parse_directory(text: &str) -> Result<PathBuf, String> {
    let path = std::fs::canonicalize(text).map_err(|error| error.to_string())?;
    match path.to_str() {
        Some(_) if path.is_dir() => Ok(path),
        Some(_) => Err("it is not a directory".to_owned()),
        None => Err("its path is not UTF-8".to_owned()),
    }
}

fn parse_lifetime(text: &str) -> Result<Lifetime, String> {
    const HOUR: i64 = 3_600_000;
    if text == "never" {
        return Ok(Lifetime(None));
    }
    let invalid = || "write it as 12h, 90d, 52w or never".to_owned();
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(invalid)?;
    let hours = match unit {
        "h" => 1,
        "d" => 24,
        "w" => 7 * 24,
        _ => return Err(invalid()),
    };
    let number: i64 = number.parse().map_err(|_| invalid())?;
    let millis =
        number.checked_mul(hours * HOUR).filter(|millis| (1..=YEARS_MAX * 366 * 24 * HOUR).contains(millis));
    millis.map(|millis| Lifetime(Some(millis))).ok_or_else(invalid)
}

/// Upper bound of a lifetime, which keeps the sum with the current time in range.
const YEARS_MAX: i64 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_have_a_unit() {
        assert_eq!(parse_lifetime("12h"), Ok(Lifetime(Some(43_200_000))));
        assert_eq!(parse_lifetime("90d"), Ok(Lifetime(Some(7_776_000_000))));
        assert_eq!(parse_lifetime("never"), Ok(Lifetime(None)));
        for bad in ["", "d", "90", "0d", "-1d", "1y", "ä", "99999999999999999w"] {
            assert!(parse_lifetime(bad).is_err(), "{bad}");
        }
    }
}
