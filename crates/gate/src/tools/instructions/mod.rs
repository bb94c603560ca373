//! Tools of the instruction catalog. Each is also a JSON-RPC method with slashes.

pub(crate) mod checksums;
pub(crate) mod diff;
pub(crate) mod diff_stream;
pub(crate) mod export;
pub(crate) mod flush;
pub(crate) mod gates;
pub(crate) mod get;
pub(crate) mod hotset;
pub(crate) mod import;
pub(crate) mod list;
pub(crate) mod meta_tools;
pub(crate) mod metrics;
pub(crate) mod reload;
pub(crate) mod remove;
pub(crate) mod repair;
pub(crate) mod review;
pub(crate) mod search;
pub(crate) mod track;
pub(crate) mod track_batch;
pub(crate) mod verify;

mod duplicates;
mod listing;
mod open;
mod project_input;
mod refresh;
mod spec;
mod stale;
mod table;

use crate::app::App;
use crate::module::EndedCall;
use crate::tools::Toolset;

/// The toolset of the instruction catalog.
pub(crate) const TOOLSET: Toolset = Toolset::opt_in("instructions", |config| config.instructions.enabled);

/// Records a call of a method: its time, and one line in the log if it writes.
pub(crate) fn record_method(app: &App, call: &EndedCall<'_>) {
    let Some(method) = call.tool.method else { return };
    let EndedCall { project, outcome, ms, .. } = *call;
    app.method_times.record(project, method, ms);
    if app.config.instructions.log_mutations && !call.tool.effects.read_only {
        tracing::info!(project, outcome, ms, "{method} of the instruction catalog");
    }
}
