//! `doctor`: is the installation well, and how is it mended?

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::install::install;
use super::output::{BAD, BOLD, GOOD, NOTE, styled};
use super::rebuild::rebuild;
use super::session::{Exit, Ran, Session};
use crate::app::{App, blocking, freshness};
use crate::surfaces::{answer, http};
use crate::tools::Progress;
use contract::Fault;
use engine::indexing::parser;
use platform::process::sandbox;
use store::damage::{self, DamagedTable};
use store::{DecidedBy, projects, sizes};
use tenancy::AllowedRoots;
use upkeep::assets::{AssetReport, AssetState, survey};

/// What the database keeps.
const DATA: &str = "data";
/// A database of more bytes is read only when that is asked for.
const READ_BYTES_MAX: u64 = 8 << 30;

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Mend what can be mended: bring damaged and missing runtime files again, make damaged indexes anew from their repositories
    #[arg(long)]
    repair: bool,
    /// Read all of the database, however large it is
    #[arg(long)]
    all: bool,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    name: String,
    ok: bool,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

/// The result that `--json` prints.
#[derive(Debug, Serialize)]
struct Report {
    well: bool,
    checks: Vec<Check>,
}

/// The part of `check_status`' result that is looked at.
#[derive(Debug, Deserialize)]
struct Status {
    #[serde(default)]
    issues: Vec<Issue>,
}

#[derive(Debug, Deserialize)]
struct Issue {
    message: String,
    hint: Option<String>,
}

/// Runs the command; fails if any check does.
pub(super) async fn run(session: &Session, args: &Args) -> Ran {
    if args.repair {
        install(session, None, true).await?;
    }
    let mut checks = examine(session).await;
    // What lies in the database can be looked at only where it answers at all.
    if session.app.opened_store().is_some() {
        checks.extend(data(session, args).await.unwrap_or_else(|fault| vec![failed("data", fault)]));
    }
    let well = checks.iter().all(|check| check.ok);
    if session.output.json {
        let report = serde_json::to_value(Report { well, checks }).unwrap_or_default();
        session.output.line(&answer::json(&answer::succeeded(&session.app, report, None)).to_string());
    } else {
        session.output.text(&render(&checks));
    }
    Ok(if well { Exit::Ok } else { Exit::Failed })
}

/// Every check, in the order in which a start needs them.
async fn examine(session: &Session) -> Vec<Check> {
    let mut checks = vec![home(&session.app), port(&session.app).await, parsing(&session.app).await];
    checks.extend(assets(&session.app).await);
    // Without its files the server cannot start, which would only say the same again.
    if checks.iter().all(|check| check.ok) {
        checks.extend(server(session).await);
    }
    if checks.iter().all(|check| check.ok) {
        checks.extend(directories(&session.app).await);
    }
    checks
}

/// Who may have what indexed, and which repositories lie where their project may not read.
async fn directories(app: &App) -> Vec<Check> {
    let check = |ok, message: String, remedy| Check { name: "may index".to_owned(), ok, message, remedy };
    let told = async {
        let who = tenancy::who_may_index(app.store().await?, &app.config).await?;
        Ok::<_, Fault>((who, freshness::outside(app).await?))
    };
    let (who, outside) = match told.await {
        Ok(told) => told,
        Err(fault) => return vec![check(false, fault.message, fault.hint)],
    };
    let mut checks: Vec<Check> = who.into_iter().map(|line| check(true, line, None)).collect();
    let settings = &app.config.indexing;
    let absent = |list: &str, root: &std::path::Path| {
        let remedy = format!("Make the directory, or take it out of {list}.");
        let message = format!("{} in {list} does not exist: nothing there may be indexed", root.display());
        check(false, message, Some(remedy))
    };
    checks.extend(AllowedRoots::common(settings).absent().map(|root| absent("indexing.roots", root)));
    for (project, roots) in &settings.project_roots {
        let list = format!("indexing.project_roots.{project}");
        checks.extend(AllowedRoots::within(roots.clone()).absent().map(|root| absent(&list, root)));
    }
    checks.extend(outside.into_iter().map(|(project, root)| {
        let message =
            format!("{project}: {} is outside its directories: searched, but no longer read", root.display());
        let list = match settings.project_roots.contains_key(project.as_str()) {
            true => format!("indexing.project_roots.{project}"),
            false => "indexing.roots".to_owned(),
        };
        let remedy = format!("Add it to {list}, or take the repository out with `clean_artifacts`.");
        check(false, message, Some(remedy))
    }));
    checks
}

/// The runtime files. With an external database, or an own copy, absence is no fault.
async fn assets(app: &App) -> Vec<Check> {
    let (layout, settings) = (app.layout.clone(), app.config.assets.clone());
    let reports = blocking(move || Ok(survey(&layout, &settings))).await.unwrap_or_default();
    let external = app.config.database.url.is_some();
    let wanted = |report: &AssetReport| !(external && report.asset == "postgres");
    reports.into_iter().filter(wanted).map(asset).collect()
}

fn asset(report: AssetReport) -> Check {
    let message = match report.state {
        AssetState::Sound => "installed, every byte as it should be".to_owned(),
        AssetState::Own => "your own copy".to_owned(),
        AssetState::Absent => "not installed".to_owned(),
        AssetState::Outdated => "installed by another version".to_owned(),
        AssetState::Damaged => format!("damaged: {}", report.damaged.join(", ")),
        AssetState::Unavailable => "not available here".to_owned(),
    };
    Check {
        name: report.title,
        ok: matches!(report.state, AssetState::Sound | AssetState::Own),
        message,
        remedy: report.remedy,
    }
}

fn home(app: &App) -> Check {
    let home = app.layout.home();
    let written = std::fs::create_dir_all(home).and_then(|()| {
        let probe = home.join(format!(".doctor-{}", app.worker));
        std::fs::write(&probe, b"probe").and_then(|()| std::fs::remove_file(&probe))
    });
    Check {
        name: "data directory".to_owned(),
        ok: written.is_ok(),
        message: match &written {
            Ok(()) => format!("{} can be written", home.display()),
            Err(error) => format!("{}: {error}", home.display()),
        },
        remedy: written.is_err().then(|| {
            "Make room and make it writable for this user, or choose another with --home.".to_owned()
        }),
    }
}

/// A port that is in use is no fault if it is ours, which only its owner knows; so it is told, not counted.
async fn port(app: &App) -> Check {
    let bound = http::listen(app).await;
    if let (Err(_), Some(address)) = (&bound, http::serving_already(app)) {
        return Check {
            name: "server address".to_owned(),
            ok: true,
            message: format!("a server of this data directory serves at {address}"),
            remedy: None,
        };
    }
    Check {
        name: "server address".to_owned(),
        ok: !matches!(&bound, Err(fault) if fault.code != contract::ErrorCode::IllegalState),
        message: match &bound {
            Ok(listening) => format!("{} is free", listening.address()),
            Err(fault) => fault.message.clone(),
        },
        remedy: bound.err().and_then(|fault| fault.hint),
    }
}

/// Whether files can be parsed, and how far what parses them and reads their history is shut in.
async fn parsing(app: &App) -> Check {
    let parsing = app.parsing.clone();
    let (ok, message, remedy) = match blocking(move || parser::probe(&parsing)).await {
        Ok(true) => {
            let history = match sandbox::can_confine_files() {
                true => "git history in one that can read its objects and nothing else (Landlock)",
                false => {
                    "git history in one that can read files; this system has no Landlock, so that a repository which \
                     changes while it is read can bring in the authors of another"
                }
            };
            (true, format!("in processes that can only compute (seccomp); {history}"), None)
        }
        Ok(false) => (
            true,
            "in processes of their own; this system has no seccomp, so that limits alone hold".to_owned(),
            None,
        ),
        Err(fault) => (false, fault.message, fault.hint),
    };
    Check { name: "parsing".to_owned(), ok, message, remedy }
}

/// What `check_status` finds: the database, the model, the default workspace.
async fn server(session: &Session) -> Vec<Check> {
    let called = session.call("check_status", &serde_json::Map::new(), Progress::default()).await;
    let check = |ok, message: &str, remedy: Option<&str>| Check {
        name: "database and model".to_owned(),
        ok,
        message: message.to_owned(),
        remedy: remedy.map(str::to_owned),
    };
    if let Some(error) = &called.envelope.error {
        return vec![check(false, &error.message, error.hint.as_deref())];
    }
    let status = called.envelope.result.as_ref().map(Status::deserialize);
    match status {
        Some(Ok(status)) if status.issues.is_empty() => vec![check(true, "both answer", None)],
        Some(Ok(status)) => {
            status.issues.iter().map(|issue| check(false, &issue.message, issue.hint.as_deref())).collect()
        }
        _ => vec![check(false, "check_status answers in another shape", None)],
    }
}

/// Whether everything that the database keeps can be read. Damaged indexes are made anew where that is asked for.
async fn data(session: &Session, args: &Args) -> Result<Vec<Check>, Fault> {
    let store = session.app.store().await?;
    let mut door = store.control_read().await?;
    let bytes = sizes::database(&mut door).await?;
    let known = projects::list(&mut door).await?;
    door.commit().await?;
    if bytes > READ_BYTES_MAX && !args.all && !args.repair {
        return Ok(vec![Check {
            name: DATA.to_owned(),
            ok: true,
            message: format!("not read: the database has {} MB", bytes / 1_000_000),
            remedy: Some("`pairofcleats doctor --all` reads all of it.".to_owned()),
        }]);
    }
    let mut checks: Vec<Check> = Vec::new();
    let shared = damage::of_control(store).await?;
    checks.extend((!shared.is_empty()).then(|| damaged("keys, jobs and projects", &shared, None)));
    for summary in known {
        let Some(project) = tenancy::open(store, &summary.id, DecidedBy::Argument).await? else { continue };
        let mut found = damage::of_project(store, &project).await?;
        let mut refused = None;
        if args.repair && !found.is_empty() && found.iter().all(|table| table.derived) {
            match rebuild(session, &summary.id, false).await {
                Ok(_) => found = damage::of_project(store, &project).await?,
                Err(stopped) => refused = stopped.fault.hint,
            }
        }
        let name = format!("project {}", summary.id);
        checks.extend((!found.is_empty()).then(|| damaged(&name, &found, refused)));
    }
    if checks.is_empty() {
        checks.push(Check {
            name: DATA.to_owned(),
            ok: true,
            message: format!("every page can be read, {} MB", bytes / 1_000_000),
            remedy: None,
        });
    }
    Ok(checks)
}

fn damaged(name: &str, tables: &[DamagedTable], refused: Option<String>) -> Check {
    let names: Vec<&str> = tables.iter().map(|table| table.table.as_str()).collect();
    let remedy = match tables.iter().all(|table| table.derived) {
        true => refused.unwrap_or_else(|| {
            "`pairofcleats doctor --repair` makes the index anew from the repositories; findings, decisions and keys stay.".to_owned()
        }),
        // No repository holds it.
        false => "Restore the database from a backup (docs/operations.md): this cannot be made anew.".to_owned(),
    };
    Check {
        name: name.to_owned(),
        ok: false,
        message: format!("damaged on disk: {}", names.join(", ")),
        remedy: Some(remedy),
    }
}

fn failed(name: &str, fault: Fault) -> Check {
    Check { name: name.to_owned(), ok: false, message: fault.message, remedy: fault.hint }
}

fn render(checks: &[Check]) -> String {
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
        let check = |ok, remedy: Option<&str>| Check {
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
