//! Installs the runtime files and shows progress, for every command that needs them.

use std::path::PathBuf;

use super::output::{DIM, GOOD, styled};
use super::progress_bar::CallProgressBar;
use super::session::Session;
use crate::app::blocking;
use contract::Fault;
use upkeep::install::{self, AssetEvent, AssetSelection, repair_assets};

/// Installs missing runtime files, from the network or from the folder `from`. Skips the embedded Postgres if an external
/// database is configured.
///
/// With `repair`, it also checks the hash of every installed file and installs damaged ones again.
pub(super) async fn install_assets(
    session: &Session,
    from: Option<PathBuf>,
    repair: bool,
) -> Result<(), Fault> {
    let app = &session.app;
    let (layout, settings) = (app.layout.clone(), app.config.assets.clone());
    let selection = AssetSelection { postgres: app.config.database.url.is_none(), embedding: true };
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
