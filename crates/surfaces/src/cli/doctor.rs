//! `doctor`: checks the installation and suggests repairs.

mod writers;

use std::fmt::Write;
use std::fs::{self, DirEntry};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::install::install_assets;
use super::output::{BAD, BOLD, GOOD, NOTE, styled};
use super::rebuild::rebuild_index;
use super::session::{CommandResult, Exit, Session};
use crate::http;
use contract::{Fault, RepositoryAddress, escaped_line};
use engine::indexing::parser;
use gate::app::{App, blocking, freshness};
use gate::tools::Progress;
use platform::process::{Program, sandbox};
use store::damage::{self, DamagedTable};
use store::{DecidedBy, projects, sizes};
use tenancy::AllowedRoots;
use upkeep::install::{AssetReport, AssetState, verify_assets};

/// Name of the check that reads the whole database.
const DATA_CHECK: &str = "data";
/// Name of the check of the program that fetches repositories.
const GIT_CHECK: &str = "git";
/// Time limit for asking that program for its version.
const GIT_TIME: Duration = Duration::from_secs(5);
/// Size in bytes above which the database is read only with `--all` or `--repair`.
const READ_BYTES_MAX: u64 = 8 << 30;

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
pub(super) struct DoctorArgs {
    /// Repair what can be repaired: reinstall damaged and missing runtime files, rebuild damaged indexes from their repositories
    #[arg(long)]
    repair: bool,
    /// Read the whole database, whatever its size
    #[arg(long)]
    all: bool,
}

/// The outcome of one check.
#[derive(Debug, Serialize)]
pub struct DoctorCheck {
    /// The subject.
    pub name: String,
    /// `true` if nothing needs repair.
    pub ok: bool,
    /// The finding, for people.
    pub message: String,
    /// A proposal for the repair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// The result that `--json` prints.
#[derive(Debug, Serialize)]
struct DoctorReport {
    well: bool,
    checks: Vec<DoctorCheck>,
}

/// The part of a `check_status` result that this command reads.
#[derive(Debug, Deserialize)]
struct StatusResult {
    #[serde(default)]
    issues: Vec<StatusIssue>,
}

#[derive(Debug, Deserialize)]
struct StatusIssue {
    message: String,
    hint: Option<String>,
}

/// Entry point of `doctor`. Fails if any check fails.
pub(super) async fn run_doctor(session: &Session, args: &DoctorArgs) -> CommandResult {
    if args.repair {
        install_assets(session, None, true).await?;
    }
    let mut checks = run_checks(session).await;
    // The data can be read only if an earlier check reached the database.
    if session.app.opened_store().is_some() {
        checks.extend(
            check_data(session, args).await.unwrap_or_else(|fault| vec![failed_check(DATA_CHECK, fault)]),
        );
    }
    let well = checks.iter().all(|check| check.ok);
    let text = render(&checks);
    session.print_result(&DoctorReport { well, checks }, &text);
    Ok(if well { Exit::Ok } else { Exit::Failed })
}

/// Runs all checks except that of the data, in the order in which a server start needs them.
async fn run_checks(session: &Session) -> Vec<DoctorCheck> {
    let mut checks = vec![
        check_data_directory(&session.app),
        check_server_address(&session.app).await,
        check_parsing(&session.app).await,
    ];
    checks.extend(check_assets(&session.app).await);
    // Without the runtime files the later checks would only report the same cause again.
    if checks.iter().all(|check| check.ok) {
        checks.extend(check_database_and_model(session).await);
    }
    if checks.iter().all(|check| check.ok) {
        checks.extend(check_allowed_directories(&session.app).await);
        checks.extend(check_git(session).await);
        checks.extend(writers::check_writers(&session.app).await);
        for module in session.modules.iter() {
            checks.extend((module.doctor_checks)(&session.app).await);
        }
    }
    checks
}

/// Lists which users may index which directories, and finds repositories outside the directories of their project.
async fn check_allowed_directories(app: &App) -> Vec<DoctorCheck> {
    let check =
        |ok, message: String, remedy| DoctorCheck { name: "may index".to_owned(), ok, message, remedy };
    let rules = async {
        let who = tenancy::who_may_index(app.store().await?, &app.config).await?;
        Ok::<_, Fault>((who, freshness::repositories_outside(app).await?))
    };
    let (who, outside) = match rules.await {
        Ok(rules) => rules,
        Err(fault) => return vec![check(false, fault.message, fault.hint)],
    };
    let mut checks: Vec<DoctorCheck> = who.into_iter().map(|line| check(true, line, None)).collect();
    let settings = &app.config.indexing;
    let absent = |list: &str, root: &std::path::Path| {
        let remedy = format!("Create the directory, or remove it from {list}.");
        let message = format!("{} in {list} does not exist, so nothing there can be indexed", root.display());
        check(false, message, Some(remedy))
    };
    checks.extend(AllowedRoots::from_settings(settings).missing().map(|root| absent("indexing.roots", root)));
    for (project, roots) in &settings.project_roots {
        let list = format!("indexing.project_roots.{project}");
        checks.extend(AllowedRoots::within(roots.clone()).missing().map(|root| absent(&list, root)));
    }
    checks.extend(outside.into_iter().map(|(project, root)| {
        let message =
            format!("{project}: {} is outside the project's directories; it stays searchable but is no longer refreshed", root.display());
        let list = match settings.project_roots.contains_key(project.as_str()) {
            true => format!("indexing.project_roots.{project}"),
            false => "indexing.roots".to_owned(),
        };
        let remedy = format!("Add it to {list}, or remove the repository with `clean_artifacts`.");
        check(false, message, Some(remedy))
    }));
    checks
}

/// Asks git for its version, if repositories are fetched by address.
async fn check_git(session: &Session) -> Option<DoctorCheck> {
    if !fetches_repositories(session) {
        return None;
    }
    let program = session.app.config.git.program.clone();
    let version = blocking(move || Program::new(program).arg("version").run(GIT_TIME, &|| false)).await;
    let output = match version {
        Ok(output) => output,
        Err(fault) => return Some(failed_check(GIT_CHECK, fault)),
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let ok = output.status.success() && mirrors::is_supported_version(&text);
    Some(DoctorCheck {
        name: GIT_CHECK.to_owned(),
        ok,
        message: match text.lines().next() {
            Some(line) if ok => escaped_line(line.trim()),
            Some(line) => format!("too old to fetch repositories: {}", escaped_line(line.trim())),
            None => "the program that fetches repositories does not say its version".to_owned(),
        },
        remedy: (!ok)
            .then(|| "Install git 2.32 or newer on this machine, or name it in git.program.".to_owned()),
    })
}

/// Returns `true` if repositories are fetched here: there are mirrors, or a list, a source or the settings of a module contain an address.
fn fetches_repositories(session: &Session) -> bool {
    let app = &session.app;
    let settings = &app.config.indexing;
    let mut listed = settings.roots.iter().chain(settings.project_roots.values().flatten());
    let is_address = |root: &PathBuf| root.to_str().and_then(RepositoryAddress::parse_prefix).is_some();
    let mut mirrors = fs::read_dir(app.layout.mirrors()).into_iter().flatten().flatten();
    let is_mirror = |entry: DirEntry| entry.path().extension().is_some_and(|ending| ending == "git");
    listed.any(is_address)
        || !app.config.sources.is_empty()
        || session.modules.iter().any(|module| (module.fetches_repositories)(&app.config))
        || mirrors.any(is_mirror)
}

/// Checks the runtime files. With an external database the embedded Postgres is not needed.
async fn check_assets(app: &App) -> Vec<DoctorCheck> {
    let (layout, settings) = (app.layout.clone(), app.config.assets.clone());
    let reports = blocking(move || Ok(verify_assets(&layout, &settings))).await.unwrap_or_default();
    let external = app.config.database.url.is_some();
    let needed = |report: &AssetReport| !(external && report.asset == "postgres");
    reports.into_iter().filter(needed).map(asset_check).collect()
}

fn asset_check(report: AssetReport) -> DoctorCheck {
    let message = match report.state {
        AssetState::Intact => "installed and intact".to_owned(),
        AssetState::Custom => "provided by you".to_owned(),
        AssetState::Absent => "not installed".to_owned(),
        AssetState::Outdated => "installed by a different version".to_owned(),
        AssetState::Damaged => format!("damaged: {}", report.damaged.join(", ")),
        AssetState::Unavailable => "not available for this platform".to_owned(),
    };
    DoctorCheck {
        name: report.title,
        ok: matches!(report.state, AssetState::Intact | AssetState::Custom),
        message,
        remedy: report.remedy,
    }
}

/// Checks that the data directory is writable. With an external database, the server writes only to the folder `projects`, and
/// containers mount the rest read-only.
fn check_data_directory(app: &App) -> DoctorCheck {
    let home = app.layout.home();
    let write_probe = |folder: &Path| {
        let probe = folder.join(format!(".doctor-{}", app.worker));
        std::fs::write(&probe, b"probe").and_then(|()| std::fs::remove_file(&probe))
    };
    let projects = home.join("projects");
    let (ok, message) = match std::fs::create_dir_all(home).and_then(|()| write_probe(home)) {
        Ok(()) => (true, format!("{} is writable", home.display())),
        Err(error)
            if error.kind() == ErrorKind::ReadOnlyFilesystem
                && app.config.database.url.is_some()
                && write_probe(&projects).is_ok() =>
        {
            let (projects, home) = (projects.display(), home.display());
            (true, format!("{projects} is writable; the rest of {home} is read-only"))
        }
        Err(error) => (false, format!("{}: {error}", home.display())),
    };
    DoctorCheck {
        name: "data directory".to_owned(),
        ok,
        message,
        remedy: (!ok).then(|| {
            "Free disk space and make it writable for this user, or choose another directory with --home."
                .to_owned()
        }),
    }
}

/// Checks the server's address. An address in use passes: another program may use it on purpose, as the message says.
async fn check_server_address(app: &App) -> DoctorCheck {
    let bound = http::listen(app).await;
    if let (Err(_), Some(address)) = (&bound, http::running_server_url(app)) {
        return DoctorCheck {
            name: "server address".to_owned(),
            ok: true,
            message: format!("a server for this data directory is running at {address}"),
            remedy: None,
        };
    }
    DoctorCheck {
        name: "server address".to_owned(),
        ok: !matches!(&bound, Err(fault) if fault.code != contract::ErrorCode::IllegalState),
        message: match &bound {
            Ok(listening) => format!("{} is free", listening.address()),
            Err(fault) => fault.message.clone(),
        },
        remedy: bound.err().and_then(|fault| fault.hint),
    }
}

/// Checks that files can be parsed, and reports the extent to which the parser and git history processes are sandboxed.
async fn check_parsing(app: &App) -> DoctorCheck {
    let parsing = app.parsing.clone();
    let (ok, message, remedy) = match blocking(move || parser::probe(&parsing)).await {
        Ok(true) => {
            let history = match sandbox::can_confine_files() {
                true => "git history in a process that can read only the repository's objects (Landlock)",
                false => {
                    "git history in a process that can read any file, because this system has no Landlock; a repository that \
                     changes while it is read could expose the authors of another"
                }
            };
            (true, format!("in processes without access to files or the network (seccomp); {history}"), None)
        }
        Ok(false) => (
            true,
            "in separate processes with resource limits only, because this system has no seccomp".to_owned(),
            None,
        ),
        Err(fault) => (false, fault.message, fault.hint),
    };
    DoctorCheck { name: "parsing".to_owned(), ok, message, remedy }
}

/// Reports the findings of `check_status` on the database, the model and the default workspace.
async fn check_database_and_model(session: &Session) -> Vec<DoctorCheck> {
    let called = session.call("check_status", &serde_json::Map::new(), Progress::default()).await;
    let check = |ok, message: &str, remedy: Option<&str>| DoctorCheck {
        name: "database and model".to_owned(),
        ok,
        message: message.to_owned(),
        remedy: remedy.map(str::to_owned),
    };
    if let Some(error) = &called.envelope.error {
        return vec![check(false, &error.message, error.hint.as_deref())];
    }
    let status = called.envelope.result.as_ref().map(StatusResult::deserialize);
    match status {
        Some(Ok(status)) if status.issues.is_empty() => vec![check(true, "both respond", None)],
        Some(Ok(status)) => {
            status.issues.iter().map(|issue| check(false, &issue.message, issue.hint.as_deref())).collect()
        }
        _ => vec![check(false, "check_status returned an unexpected result", None)],
    }
}

/// Reads every page of the database. With `--repair` it also rebuilds damaged indexes.
async fn check_data(session: &Session, args: &DoctorArgs) -> Result<Vec<DoctorCheck>, Fault> {
    let store = session.app.store().await?;
    let mut control = store.control_read().await?;
    let bytes = sizes::database(&mut control).await?;
    let known = projects::list(&mut control).await?;
    control.commit().await?;
    if bytes > READ_BYTES_MAX && !args.all && !args.repair {
        return Ok(vec![DoctorCheck {
            name: DATA_CHECK.to_owned(),
            ok: true,
            message: format!("skipped: the database holds {} MB", bytes / 1_000_000),
            remedy: Some("`pairofcleats doctor --all` reads the whole database.".to_owned()),
        }]);
    }
    let mut checks: Vec<DoctorCheck> = Vec::new();
    let shared = damage::check_control(store).await?;
    checks.extend((!shared.is_empty()).then(|| damage_check("keys, jobs and projects", &shared, None)));
    for summary in known {
        let Some(project) = tenancy::open(store, &summary.id, DecidedBy::Argument).await? else { continue };
        let mut found = damage::check_project(store, &project).await?;
        let mut refused = None;
        if args.repair && !found.is_empty() && found.iter().all(|table| table.derived) {
            match rebuild_index(session, &summary.id, false).await {
                Ok(_) => found = damage::check_project(store, &project).await?,
                Err(stopped) => refused = stopped.fault.hint,
            }
        }
        let name = format!("project {}", summary.id);
        checks.extend((!found.is_empty()).then(|| damage_check(&name, &found, refused)));
    }
    if checks.is_empty() {
        checks.push(DoctorCheck {
            name: DATA_CHECK.to_owned(),
            ok: true,
            message: format!("every page is readable, {} MB", bytes / 1_000_000),
            remedy: None,
        });
    }
    Ok(checks)
}

fn damage_check(name: &str, tables: &[DamagedTable], refused: Option<String>) -> DoctorCheck {
    let names: Vec<&str> = tables.iter().map(|table| table.table.as_str()).collect();
    let remedy = match tables.iter().all(|table| table.derived) {
        true => refused.unwrap_or_else(|| {
            "`pairofcleats doctor --repair` rebuilds the index from the repositories; findings, decisions and keys are kept.".to_owned()
        }),
        // Data that cannot be rebuilt from a repository.
        false => "Restore the database from a backup (docs/operations.md); this data cannot be rebuilt.".to_owned(),
    };
    DoctorCheck {
        name: name.to_owned(),
        ok: false,
        message: format!("damaged on disk: {}", names.join(", ")),
        remedy: Some(remedy),
    }
}

fn failed_check(name: &str, fault: Fault) -> DoctorCheck {
    DoctorCheck { name: name.to_owned(), ok: false, message: fault.message, remedy: fault.hint }
}

fn render(checks: &[DoctorCheck]) -> String {
    let mut shown = String::new();
    for check in checks {
        let mark = if check.ok { styled(GOOD, "✓") } else { styled(BAD, "✗") };
        let _ = writeln!(shown, "{mark} {}  {}", styled(BOLD, &check.name), check.message);
        if let Some(remedy) = &check.remedy {
            let _ = writeln!(shown, "  {} {remedy}", styled(NOTE, "→"));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_check_shows_its_remedy() {
        let check = |ok, remedy: Option<&str>| DoctorCheck {
            name: "thing".into(),
            ok,
            message: "state".into(),
            remedy: remedy.map(str::to_owned),
        };
        let shown = render(&[check(true, None), check(false, Some("mend it"))]);
        let shown = anstream::adapter::strip_str(&shown).to_string();
        assert_eq!(shown, "✓ thing  state\n✗ thing  state\n  → mend it\n");
    }
}
