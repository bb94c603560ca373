//! Installs the runtime files under a progress bar; `quickstart` and `bootstrap` share it.

use std::path::PathBuf;

use super::bars::Bar;
use super::output::{DIM, GOOD, styled};
use super::session::Session;
use crate::app::blocking;
use contract::Fault;
use upkeep::assets::{self, AssetEvent, Wanted};

/// Installs what is missing, from the network or from the folder `from`; fast when nothing is. With an
/// external database the embedded Postgres is not wanted.
///
/// With `repair`, damaged files are found by looking at every byte, and brought again.
pub(super) async fn install(session: &Session, from: Option<PathBuf>, repair: bool) -> Result<(), Fault> {
    let app = &session.app;
    let (layout, settings) = (app.layout.clone(), app.config.assets.clone());
    let wanted = Wanted { postgres: app.config.database.url.is_none(), embedding: true };
    let bar = Bar::new(session.output);
    let shown = bar.clone();
    let installed = blocking(move || {
        // Ctrl-C ends the process, and with it what it started.
        let (go_on, tell) = (|| false, |event| show(&shown, event));
        if repair {
            for asset in assets::mend(&layout, &settings, wanted, from.as_deref(), &go_on, &tell)?.damaged {
                shown.line(&format!("  {asset}: was damaged, brought again"));
            }
            return Ok(());
        }
        assets::install(&layout, &settings, wanted, from.as_deref(), &go_on, &tell).map(|_| ())
    })
    .await;
    bar.finish();
    installed
}

fn show(bar: &Bar, event: AssetEvent) {
    match event {
        AssetEvent::Step { asset, what } => bar.step(&format!("{asset}: {what}")),
        AssetEvent::Progress { done, total, .. } => bar.bytes(done, total),
        // What was there already is not worth a line.
        AssetEvent::Done { cached: true, .. } => {}
        AssetEvent::Done { asset, cached: false } => {
            bar.line(&format!("{} {asset} {}", styled(GOOD, "✓"), styled(DIM, "installed")));
        }
    }
}
