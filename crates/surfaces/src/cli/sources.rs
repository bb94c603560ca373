//! `sources`: lists the code hosts whose repositories are kept indexed, and syncs them.

use std::fmt::Write;
use std::sync::Arc;

use clap::Subcommand;
use serde::Serialize;

use super::output::{BAD, BOLD, DIM, GOOD, NOTE, styled};
use super::progress_bar::CallProgressBar;
use super::session::{CommandError, CommandResult, Exit, Session, StopSignal};
use contract::clock::iso_from_millis;
use contract::config::SourceSettings;
use contract::{ErrorCode, Fault, echo, escaped_line};
use gate::app::App;
use gate::app::freshness::{SyncReport, SyncTime, sync_source};
use store::{source_repositories, sources};

/// Arguments of `sources`.
#[derive(Debug, clap::Args)]
pub(super) struct SourcesArgs {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the sources of the configuration, when they were synced, and how many repositories they have
    List,
    /// Sync now and wait: index what is new or was pushed to, remove what has been gone for long
    Sync {
        /// Name of the source [default: all of them]
        name: Option<String>,
    },
}

/// The result of `sources list`.
#[derive(Debug, Serialize)]
struct SourceList {
    sources: Vec<SourceStatus>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SourceStatus {
    name: String,
    kind: &'static str,
    /// The project that gets the repositories, as written in the settings; null is the default workspace.
    project: Option<String>,
    /// The end of its last successful sync.
    synced_at: Option<String>,
    /// `true` if a process is syncing it now.
    syncing: bool,
    indexed: i64,
    /// Number of repositories that are listed but not indexed yet.
    waiting: i64,
    /// Number of repositories that the host no longer has.
    gone: i64,
    note: Option<String>,
}

/// The result of `sources sync`.
#[derive(Debug, Serialize)]
struct SyncedSources {
    sources: Vec<SyncedSource>,
}

#[derive(Debug, Serialize)]
struct SyncedSource {
    name: String,
    #[serde(flatten)]
    report: Option<SyncReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<SyncError>,
}

/// The reason why a source was not synced, while others may have been.
#[derive(Debug, Serialize)]
struct SyncError {
    code: ErrorCode,
    message: String,
    hint: Option<String>,
}

/// Entry point of `sources`.
pub(super) async fn manage_sources(session: &Session, args: SourcesArgs) -> CommandResult {
    match args.action {
        None | Some(Action::List) => list_sources(session).await,
        Some(Action::Sync { name }) => sync_sources(session, name.as_deref()).await,
    }
}

async fn list_sources(session: &Session) -> CommandResult {
    let mut control = session.app.store().await?.control_read().await?;
    let known = sources::list(&mut control).await?;
    let counts = source_repositories::counts(&mut control).await?;
    control.commit().await?;
    let status = |settings: &SourceSettings| {
        let row = known.iter().find(|row| row.name == settings.name);
        let counted = counts.iter().find(|counted| counted.source == settings.name);
        SourceStatus {
            name: settings.name.clone(),
            kind: settings.kind.as_str(),
            project: settings.project.clone(),
            synced_at: row.and_then(|row| row.synced_ms).map(iso_from_millis),
            syncing: row.is_some_and(|row| row.syncing),
            indexed: counted.map_or(0, |counted| counted.indexed),
            waiting: counted.map_or(0, |counted| counted.waiting),
            gone: counted.map_or(0, |counted| counted.gone),
            note: row.and_then(|row| row.note.clone()),
        }
    };
    let listed = SourceList { sources: session.app.config.sources.iter().map(status).collect() };
    Ok(session.print_result(&listed, &render_list(&listed)))
}

fn render_list(listed: &SourceList) -> String {
    if listed.sources.is_empty() {
        return "No sources; [[sources]] in the configuration keeps whole organisations indexed (docs/git.md).\n"
            .to_owned();
    }
    let mut shown = String::new();
    for source in &listed.sources {
        let SourceStatus { name, kind, indexed, waiting, gone, .. } = source;
        let when = match (&source.synced_at, source.syncing) {
            (_, true) => "being synced".to_owned(),
            (Some(at), false) => format!("synced {at}"),
            (None, false) => "not synced yet".to_owned(),
        };
        let facts = format!("{kind}, {when}: {indexed} indexed, {waiting} waiting, {gone} gone");
        let _ = writeln!(shown, "{}  {}", styled(BOLD, &escaped_line(name)), styled(DIM, &facts));
        if let Some(note) = &source.note {
            let _ = writeln!(shown, "  {}", styled(NOTE, &escaped_line(note)));
        }
    }
    shown
}

/// Syncs the source with this name, or all. On Ctrl-C, returns the running index job to the queue and stops.
async fn sync_sources(session: &Session, name: Option<&str>) -> CommandResult {
    let app = &session.app;
    let all = app.config.sources.iter();
    let wanted: Vec<&SourceSettings> =
        all.filter(|settings| name.is_none_or(|name| name == settings.name)).collect();
    if wanted.is_empty() {
        return Err(CommandError::not_run(no_source(name)));
    }
    let (bar, mut stop) = (CallProgressBar::new(session.output), StopSignal::install());
    let on_step = |step: &str| bar.step(step);
    let mut syncing = std::pin::pin!(sync_all(app, &wanted, &on_step));
    let synced = tokio::select! {
        synced = &mut syncing => synced,
        () = stop.received() => {
            app.shutdown.cancel();
            syncing.await
        }
    };
    bar.finish();
    let (mut sources, mut exit) = (Vec::new(), Exit::Ok);
    for (source, outcome) in synced {
        let (report, error) = match outcome {
            Ok(report) => (Some(report), None),
            // If a single source was named, its error is that of the command.
            Err(fault) if name.is_some() => return Err(fault.into()),
            Err(fault) => {
                exit = Exit::Failed;
                let fault = fault.for_local_caller();
                (None, Some(SyncError { code: fault.code, message: fault.message, hint: fault.hint }))
            }
        };
        sources.push(SyncedSource { name: source, report, error });
    }
    let synced = SyncedSources { sources };
    session.print_result(&synced, &render_synced(&synced));
    Ok(exit)
}

async fn sync_all(
    app: &Arc<App>,
    wanted: &[&SourceSettings],
    on_step: &(dyn Fn(&str) + Sync),
) -> Vec<(String, Result<SyncReport, Fault>)> {
    let mut synced = Vec::new();
    for settings in wanted {
        if app.shutdown.is_cancelled() && !synced.is_empty() {
            break;
        }
        let outcome = match sync_source(app, settings, SyncTime::Now, on_step).await {
            Ok(Some(report)) => Ok(report),
            Ok(None) => Err(busy(&settings.name)),
            Err(fault) => Err(fault),
        };
        synced.push((settings.name.clone(), outcome));
    }
    synced
}

fn no_source(name: Option<&str>) -> Fault {
    match name {
        Some(name) => Fault::new(ErrorCode::NotFound, format!("There is no source `{}`.", echo(name)))
            .with_hint("`pairofcleats sources` lists them."),
        None => Fault::new(ErrorCode::NotFound, "The configuration has no sources.")
            .with_hint("Add [[sources]] with name, kind and owners to it; docs/git.md describes them."),
    }
}

fn busy(name: &str) -> Fault {
    Fault::new(ErrorCode::IllegalState, format!("Another process syncs the source `{name}`."))
        .with_hint("`pairofcleats sources` shows when it has finished.")
}

fn render_synced(synced: &SyncedSources) -> String {
    let mut shown = String::new();
    for SyncedSource { name, report, error } in &synced.sources {
        let name = styled(BOLD, &escaped_line(name));
        if let Some(report) = report {
            let _ = writeln!(shown, "{} {name}  {}", styled(GOOD, "✓"), styled(DIM, &facts(report)));
            if let Some(note) = &report.note {
                let _ = writeln!(shown, "  {}", styled(NOTE, &escaped_line(note)));
            }
        }
        if let Some(error) = error {
            let _ = writeln!(shown, "{} {name}  {}", styled(BAD, "✗"), escaped_line(&error.message));
            if let Some(hint) = &error.hint {
                let _ = writeln!(shown, "  {}", styled(NOTE, &escaped_line(hint)));
            }
        }
    }
    shown
}

fn facts(report: &SyncReport) -> String {
    let SyncReport { listed, indexed, unchanged, failed, gone, removed, .. } = report;
    let mut facts = format!("{listed} listed: {indexed} indexed, {unchanged} unchanged");
    for (count, what) in [(*failed, "failed"), (*removed, "removed")] {
        if count > 0 {
            let _ = write!(facts, ", {count} {what}");
        }
    }
    if *gone > 0 {
        let _ = write!(facts, "; {gone} newly gone");
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn sources_read_as_lines() {
        assert!(render_list(&SourceList { sources: Vec::new() }).starts_with("No sources"));
        let source = |name: &str, synced_at: Option<&str>, syncing| SourceStatus {
            name: name.to_owned(),
            kind: "github",
            project: None,
            synced_at: synced_at.map(str::to_owned),
            syncing,
            indexed: 12,
            waiting: 3,
            gone: 1,
            note: synced_at.map(|_| "2 not indexed".to_owned()),
        };
        let at = Some("2026-02-03T04:05:06.000Z");
        let sources = vec![source("acme", at, false), source("labs", None, false), source("web", None, true)];
        assert_eq!(
            plain(&render_list(&SourceList { sources })),
            "acme  github, synced 2026-02-03T04:05:06.000Z: 12 indexed, 3 waiting, 1 gone\n  2 not indexed\n\
             labs  github, not synced yet: 12 indexed, 3 waiting, 1 gone\n\
             web  github, being synced: 12 indexed, 3 waiting, 1 gone\n"
        );
    }

    #[test]
    fn a_sync_reads_as_one_line_for_each_source() {
        let error = SyncError {
            code: ErrorCode::RateLimited,
            message: "The code host limits the rate of requests.".to_owned(),
            hint: Some("Try again after 30 s.".to_owned()),
        };
        let sources = vec![
            SyncedSource { name: "acme".to_owned(), report: Some(SyncReport::default()), error: None },
            SyncedSource { name: "labs".to_owned(), report: None, error: Some(error) },
        ];
        let synced = SyncedSources { sources };
        assert_eq!(
            plain(&render_synced(&synced)),
            "✓ acme  0 listed: 0 indexed, 0 unchanged\n✗ labs  The code host limits the rate of requests.\n  Try again after 30 s.\n"
        );
        let json = serde_json::to_value(&synced).unwrap();
        assert_eq!(
            (&json["sources"][0]["listed"], &json["sources"][1]["error"]["code"]),
            (&0.into(), &"RATE_LIMITED".into())
        );
    }
}
