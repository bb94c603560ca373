//! Tools of launch runs: they start runs, have jobs advance them, and show them. [`launch::legality`] decides which tools are legal in
//! which state; [`crate::runs`] does the work.

mod artifact_bytes;
mod cancel;
mod event_stream;
mod fix_next;
mod get_artifact;
mod get_status;
mod list_runs;
mod open_pr;
mod recent_events;
mod report;
mod resource;
mod resume;
mod run_call;
mod run_status;
mod spec;
mod start_from_github;
mod start_from_product;
mod start_run;
mod starting;
mod validate;

pub(crate) use artifact_bytes::ArtifactBytes;
pub(crate) use recent_events::RecentEvents;

use crate::runs;
use contract::Fault;
use contract::config::Config;
use gate::module::Module;
use gate::tools::{ToolSpec, Toolset};
use launch::{addresses, site_profiles};

/// The toolset of launch runs.
const TOOLSET: Toolset = Toolset::opt_in("launch", |config| config.launch.enabled);

/// Checks the settings of launch runs.
///
/// # Errors
/// `INVALID_INPUT` for a site, a host or a forge that cannot be used.
fn check_settings(config: &Config) -> Result<(), Fault> {
    let settings = &config.launch;
    site_profiles::check_sites(&settings.sites)?;
    addresses::product_hosts(&settings.product_hosts)?;
    code_hosts::forge::check_forges(&settings.forges, &settings.sites)
}

/// All bytes of an artifact of a launch run; answers [`ArtifactBytes`].
pub(crate) const READ_LAUNCH_ARTIFACT: &ToolSpec = &artifact_bytes::TOOL;
/// The log of a launch run, one event each.
pub(crate) const STREAM_LAUNCH_EVENTS: &ToolSpec = &event_stream::TOOL;
/// The last events of a launch run; answers [`RecentEvents`].
pub(crate) const LIST_LAUNCH_EVENTS: &ToolSpec = &recent_events::TOOL;
/// A launch run as it is now; answers like the tool `launch_get_status`.
pub(crate) const READ_LAUNCH_RUN: &ToolSpec =
    &ToolSpec { name: "launch/run", title: "Read a launch run", ..get_status::TOOL };
/// A part of an artifact of a launch run; answers like the tool `launch_get_artifact`.
pub(crate) const READ_LAUNCH_PART: &ToolSpec =
    &ToolSpec { name: "launch/part", title: "Read a part of an artifact", ..get_artifact::TOOL };

/// The part of the module in the gate.
pub(crate) static MODULE: Module = Module {
    name: "launch",
    toolsets: &[TOOLSET],
    tools: &[
        &start_run::TOOL,
        &start_from_product::TOOL,
        &start_from_github::TOOL,
        &get_status::TOOL,
        &list_runs::TOOL,
        &get_artifact::TOOL,
        &validate::TOOL,
        &fix_next::TOOL,
        &resume::TOOL,
        &cancel::TOOL,
        &open_pr::TOOL,
    ],
    operations: &[
        READ_LAUNCH_ARTIFACT, STREAM_LAUNCH_EVENTS, LIST_LAUNCH_EVENTS, READ_LAUNCH_RUN, READ_LAUNCH_PART,
    ],
    resources: &[&resource::RUNS],
    job_kinds: &[&runs::KIND, &runs::WATCH_KIND],
    check_settings,
    background: &[|app| Box::pin(runs::sweep_runs(app))],
    index_ended: Some(|app, project| Box::pin(runs::index_ended(app, project))),
    ..Module::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;
    use contract::ProjectId;
    use gate::app::job_kind::JobKind;
    use serde_json::Value;

    #[test]
    fn each_run_and_each_watched_site_has_a_lane_of_its_own() {
        let lane =
            |kind: &JobKind, subject| kind.job(ProjectId::parse("p").unwrap(), subject, Value::Null).lane;
        assert_eq!(lane(&runs::KIND, "r_1"), "launch:r_1");
        assert_eq!(lane(&runs::WATCH_KIND, "watch:docs"), "launch:watch:docs");
        assert_ne!(runs::KIND.name, runs::WATCH_KIND.name);
    }
}
