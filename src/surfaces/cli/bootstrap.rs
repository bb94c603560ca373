//! `bootstrap`: install the runtime files, or mend them.

use std::fmt::Write;
use std::path::PathBuf;

use serde::Serialize;

use super::install::install;
use super::output::{BOLD, DIM, GOOD, NOTE, styled};
use super::session::{Exit, Ran, Session};
use crate::app::blocking;
use crate::surfaces::answer;
use upkeep::assets::{AssetReport, AssetState, survey};

/// Arguments of `bootstrap`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Take the files from this folder; nothing is fetched from elsewhere
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
}

/// The result that `--json` prints.
#[derive(Debug, Serialize)]
struct Installed {
    assets: Vec<AssetReport>,
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: Args) -> Ran {
    install(session, args.from, true).await?;
    let (layout, settings) = (session.app.layout.clone(), session.app.config.assets.clone());
    let assets = blocking(move || Ok(survey(&layout, &settings))).await?;
    if session.output.json {
        let result = serde_json::to_value(Installed { assets }).unwrap_or_default();
        session.output.line(&answer::json(&answer::succeeded(&session.app, result, None)).to_string());
    } else {
        session.output.text(&render(&assets));
    }
    Ok(Exit::Ok)
}

fn render(assets: &[AssetReport]) -> String {
    let mut shown = String::new();
    for report in assets {
        let (mark, state) = match report.state {
            AssetState::Sound => (styled(GOOD, "✓"), format!("{} MB", report.bytes / 1_000_000)),
            AssetState::Own => (styled(GOOD, "✓"), "your own copy".to_owned()),
            _ => (styled(NOTE, "-"), "not installed".to_owned()),
        };
        let _ = writeln!(shown, "{mark} {}  {}", styled(BOLD, &report.title), styled(DIM, &state));
    }
    shown
}
