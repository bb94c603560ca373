//! `doctor`: is the installation well, and how is it mended?

use std::fmt::Write;
use std::io;

use serde::Serialize;

use super::output::{BAD, BOLD, GOOD, NOTE, styled};
use super::session::{Exit, Ran, Session};
use crate::app::App;
use crate::surfaces::{answer, http};
use crate::tools::Progress;

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

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

/// Runs the command; fails if any check does.
pub(super) async fn run(session: &Session) -> Ran {
    let checks = examine(session).await;
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
    vec![home(&session.app), port(&session.app).await, status(session).await]
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
        remedy: written.is_err().then(|| match io::Error::last_os_error().kind() {
            io::ErrorKind::StorageFull => {
                "Free some space, or choose another directory with --home.".to_owned()
            }
            _ => "Make it writable for this user, or choose another directory with --home.".to_owned(),
        }),
    }
}

/// A port that is in use is no fault if it is ours, which only its owner knows; so it is told, not counted.
async fn port(app: &App) -> Check {
    let bound = http::listen(app).await;
    Check {
        name: "server address".to_owned(),
        ok: !matches!(&bound, Err(fault) if fault.code != crate::contract::ErrorCode::IllegalState),
        message: match &bound {
            Ok(listening) => format!("{} is free", listening.address()),
            Err(fault) => fault.message.clone(),
        },
        remedy: bound.err().and_then(|fault| fault.hint),
    }
}

async fn status(session: &Session) -> Check {
    let called = session.call("check_status", &serde_json::Map::new(), Progress::default()).await;
    let error = called.envelope.error;
    Check {
        name: "server".to_owned(),
        ok: error.is_none(),
        message: error
            .as_ref()
            .map_or_else(|| "check_status answers".to_owned(), |error| error.message.clone()),
        remedy: error.and_then(|error| error.hint),
    }
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
