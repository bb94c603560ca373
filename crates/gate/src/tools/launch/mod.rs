//! Tools of launch runs: they start runs, have jobs advance them, and show them. [`launch::legality`] decides which tools are legal in
//! which state; [`crate::app::launch`] does the work.

pub(crate) mod artifact_bytes;
pub(crate) mod cancel;
pub(crate) mod event_stream;
pub(crate) mod fix_next;
pub(crate) mod get_artifact;
pub(crate) mod get_status;
pub(crate) mod list_runs;
pub(crate) mod open_pr;
pub(crate) mod recent_events;
mod report;
pub(crate) mod resource;
pub(crate) mod resume;
mod run_call;
mod run_status;
mod spec;
pub(crate) mod start_from_github;
pub(crate) mod start_from_product;
pub(crate) mod start_run;
mod starting;
pub(crate) mod validate;

use crate::tools::Toolset;
use contract::config::{Config, SiteLocation};
use contract::{Fault, RepositoryAddress};
use launch::{addresses, site_profiles};

/// The toolset of launch runs.
pub(crate) const TOOLSET: Toolset = Toolset::opt_in("launch", |config| config.launch.enabled);

/// Checks the settings of launch runs.
///
/// # Errors
/// `INVALID_INPUT` for a site, a host or a forge that cannot be used.
pub(crate) fn check_settings(config: &Config) -> Result<(), Fault> {
    let settings = &config.launch;
    site_profiles::check_sites(&settings.sites)?;
    addresses::product_hosts(&settings.product_hosts)?;
    code_hosts::forge::check_forges(&settings.forges, &settings.sites)
}

/// The addresses of sites, whose mirrors hold what runs wrote for them.
pub(crate) fn mirrored_sites(config: &Config) -> Vec<RepositoryAddress> {
    let address = |location| match location {
        SiteLocation::Address(address) => Some(address),
        SiteLocation::Directory(_) => None,
    };
    config.launch.sites.iter().filter_map(|site| address(site.location())).collect()
}
