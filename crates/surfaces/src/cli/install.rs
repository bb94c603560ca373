//! Installs the runtime files and shows progress, for every command that needs them.

use std::io::IsTerminal;
use std::path::PathBuf;

use super::output::{DIM, GOOD, styled};
use super::progress_bar::CallProgressBar;
use super::prompt;
use super::session::Session;
use contract::Fault;
use gate::app::blocking;
use upkeep::install::{self, AssetEvent, AssetSelection, MissingAsset, missing_assets, repair_assets};

/// Installs missing runtime files, from the network or from the folder `from`. Skips the embedded Postgres if an external
/// database is configured.
///
/// With `repair`, it also checks the hash of every installed file and installs damaged ones again.
///
/// # Errors
/// `CAPABILITY_MISSING` and other faults of the installation.
pub async fn install_assets(session: &Session, from: Option<PathBuf>, repair: bool) -> Result<(), Fault> {
    let app = &session.app;
    let (layout, settings) = (app.layout.clone(), app.config.assets.clone());
    let selection = needed(session, true);
    let bar = CallProgressBar::new(session.output);
    let shown = bar.clone();
    let installed = blocking(move || {
        // No cancellation callback: Ctrl-C ends the process and its children.
        let (is_cancelled, on_event) = (|| false, |event| show_asset_event(&shown, event));
        if repair {
            let repaired =
                repair_assets(&layout, &settings, selection, from.as_deref(), &is_cancelled, &on_event)?;
            for asset in repaired.damaged {
                shown.line(&format!("  {asset}: was damaged and has been reinstalled"));
            }
            return Ok(());
        }
        install::install_assets(&layout, &settings, selection, from.as_deref(), &is_cancelled, &on_event)
            .map(|_| ())
    })
    .await;
    bar.finish();
    installed
}

/// Installs the runtime files on the first use of a machine, if `yes` or the user at the terminal agrees. Otherwise the command
/// continues and fails with an error that names the data directory and the command that installs them.
pub(super) async fn offer_assets(session: &Session, with_model: bool, yes: bool) -> Result<(), Fault> {
    let missing = missing(session, with_model).await?;
    if missing.is_empty() || !(yes || wants_them(session, &missing)) {
        return Ok(());
    }
    install_assets(session, None, false).await
}

/// Returns the runtime files that are not installed.
pub(super) async fn missing(session: &Session, with_model: bool) -> Result<Vec<MissingAsset>, Fault> {
    let (layout, settings) = (session.app.layout.clone(), session.app.config.assets.clone());
    let selection = needed(session, with_model);
    blocking(move || missing_assets(&layout, &settings, selection)).await
}

fn needed(session: &Session, with_model: bool) -> AssetSelection {
    AssetSelection { postgres: session.app.config.database.url.is_none(), embedding: with_model }
}

/// Asks the user at the terminal. Scripts are not asked.
fn wants_them(session: &Session, missing: &[MissingAsset]) -> bool {
    let output = session.output;
    if output.json || output.quiet || !prompt::can_ask() || !std::io::stderr().is_terminal() {
        return false;
    }
    let titles: Vec<&str> = missing.iter().map(|asset| asset.title.as_str()).collect();
    let bytes: u64 = missing.iter().map(|asset| asset.bytes).sum();
    let question = format!(
        "Not yet installed in {}: {}.\nDownload {} MB and install them now?",
        session.app.layout.home().display(),
        titles.join("; "),
        bytes.div_ceil(1_000_000)
    );
    prompt::agrees(&question, true)
}

fn show_asset_event(bar: &CallProgressBar, event: AssetEvent) {
    match event {
        AssetEvent::Step { asset, what } => bar.step(&format!("{asset}: {what}")),
        AssetEvent::Progress { done, total, .. } => bar.bytes(done, total),
        // Files that were already installed are not reported.
        AssetEvent::Done { cached: true, .. } => {}
        AssetEvent::Done { asset, cached: false } => {
            bar.line(&format!("{} {asset} {}", styled(GOOD, "✓"), styled(DIM, "installed")));
        }
    }
}
