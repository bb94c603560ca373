//! `keys`: creates, lists and revokes API keys. Works on the database directly, so no server has to run.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

use clap::{ArgGroup, Subcommand};

use super::flags::{parse_project_id, whole_number_in};
use super::output::{BOLD, DIM, styled};
use super::session::{CommandError, CommandResult, Session};
use contract::{ProjectId, RepositoryAddress, escaped_line};
use gate::tools::Surface;
use gate::tools::admin::keys::{self, Lifetime, RevokedKey};
use tenancy::{self, KeyAuthor, NewKey, Principal, Projects, Scope};

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
    /// Scopes of the key: search, index, triage, admin, instructions, curate, launch, publish
    #[arg(long, value_name = "SCOPE,…", value_delimiter = ',', default_value = "search", value_parser = parse_scope)]
    scopes: Vec<Scope>,
    /// Lifetime: 12h, 90d, 52w or never
    #[arg(long, value_name = "TIME", default_value = "90d", value_parser = Lifetime::parse)]
    expires: Lifetime,
    /// Rate limit in calls per minute [default: access.calls_per_minute]
    #[arg(long, value_name = "N", value_parser = parse_rate)]
    calls_per_minute: Option<u32>,
    /// What the key may index: a directory with everything below it, or the address of a host, an owner or a repository; repeatable
    /// [default: all of the project, indexing.project_roots]
    #[arg(long, value_name = "DIR|URL", value_parser = parse_root)]
    root: Vec<PathBuf>,
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
    let new = NewKey {
        name: create.name,
        projects: if create.all_projects {
            Projects::All
        } else {
            Projects::Only(create.project.into_iter().collect())
        },
        scopes: create.scopes.into_iter().collect::<BTreeSet<_>>(),
        calls_per_minute: create.calls_per_minute,
        roots: (!create.root.is_empty()).then_some(create.root),
        expires_ms: None,
    };
    let principal = Principal::local();
    let author = KeyAuthor { principal: &principal, surface: Surface::Cli.as_str() };
    let created =
        keys::create(&session.app, new, create.expires, author).await.map_err(CommandError::not_run)?;
    session.output.print_note(&styled(
        DIM,
        "The key is shown only this once; store it where your client keeps secrets.",
    ));
    if !created.projects_absent.is_empty() {
        session.output.print_note(&styled(
            DIM,
            &format!(
                "Not yet created: {}. The first index run into a project creates it.",
                created.projects_absent.join(", ")
            ),
        ));
    }
    let text = format!("{}\n", created.key);
    Ok(session.print_result(&created, &text))
}

async fn list_keys(session: &Session) -> CommandResult {
    let list = keys::all(&session.app).await?;
    let mut text = String::new();
    for key in &list.keys {
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
    if list.keys.is_empty() {
        text.push_str("No keys yet; `pairofcleats keys create --name NAME --project ID` creates one.\n");
    }
    Ok(session.print_result(&list, &text))
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

/// Parses the address of a host, an owner or a repository, in its canonical spelling; or an existing directory, resolved to an
/// absolute path without symbolic links.
fn parse_root(text: &str) -> Result<PathBuf, String> {
    match RepositoryAddress::parse_prefix(text) {
        // An allowlist of addresses permits none of these.
        Some(Ok(address)) if address.scheme() == "file" => {
            return Err("name the directory by its path".to_owned());
        }
        Some(address) => return address.map(|address| PathBuf::from(address.as_str())),
        None => {}
    }
    let path = std::fs::canonicalize(text).map_err(|error| error.to_string())?;
    match path.to_str() {
        Some(_) if path.is_dir() => Ok(path),
        Some(_) => Err("it is not a directory".to_owned()),
        None => Err("its path is not UTF-8".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_a_directory_or_the_beginning_of_addresses() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        assert_eq!(parse_root(path.to_str().unwrap()), Ok(path));
        for (text, root) in [
            ("https://Host.example/", "https://host.example"),
            ("https://host.example/acme/", "https://host.example/acme"),
            ("https://host.example/acme/shop.git", "https://host.example/acme/shop"),
            ("git@host.example:acme", "ssh://git@host.example/acme"),
        ] {
            assert_eq!(parse_root(text), Ok(PathBuf::from(root)), "{text}");
        }
        for text in ["file:///srv", "https://user:secret@host.example/acme", "ftp://host", "/no/such/folder"]
        {
            assert!(parse_root(text).is_err(), "{text}");
        }
    }
}
