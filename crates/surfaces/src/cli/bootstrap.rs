//! `bootstrap`: installs or repairs the runtime files.

use std::fmt::Write;
use std::path::PathBuf;

use serde::Serialize;

use super::install::install_assets;
use super::output::{BOLD, DIM, GOOD, NOTE, styled};
use super::session::{CommandResult, Session};
use gate::app::blocking;

use upkeep::install::{AssetReport, AssetState, verify_assets};

/// Arguments of `bootstrap`.
#[derive(Debug, clap::Args)]
pub(super) struct BootstrapArgs {
    /// Install from this folder, without network access
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
}

/// The result that `--json` prints.
#[derive(Debug, Serialize)]
struct BootstrapResult {
    assets: Vec<AssetReport>,
}

/// Entry point of `bootstrap`.
pub(super) async fn run_bootstrap(session: &Session, args: BootstrapArgs) -> CommandResult {
    install_assets(session, args.from, true).await?;
    let (layout, settings) = (session.app.layout.clone(), session.app.config.assets.clone());
    let assets = blocking(move || Ok(verify_assets(&layout, &settings))).await?;
    let text = render(&assets);
    Ok(session.print_result(&BootstrapResult { assets }, &text))
}

fn render(assets: &[AssetReport]) -> String {
    let mut shown = String::new();
    for report in assets {
        let (mark, state) = match report.state {
            AssetState::Intact => (styled(GOOD, "✓"), format!("{} MB", report.bytes / 1_000_000)),
            AssetState::Custom => (styled(GOOD, "✓"), "your own copy".to_owned()),
            _ => (styled(NOTE, "-"), "not installed".to_owned()),
        };
        let _ = writeln!(shown, "{mark} {}  {}", styled(BOLD, &report.title), styled(DIM, &state));
    }
    shown
}
