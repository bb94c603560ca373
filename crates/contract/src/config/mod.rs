//! Settings, read once at start. Precedence: defaults < configuration file < environment < flags.
//!
//! This is the only module that reads the environment. Every limit of the product is a setting whose name ends with its unit;
//! `defaults.toml` documents each setting.

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod launch_sites;
mod layout;
mod load;
mod sections;
mod sources;

pub use launch_sites::{CheckCommand, ForgeKind, LOCAL_FORGE, LaunchForge, LaunchSite, SiteLocation};
pub use layout::{ARCHIVES_FOLDER, Layout, RELOCATED_CLUSTERS, default_home};
pub use load::{
    ConfigError, Overrides, environment_variables, failpoint, is_dumb_terminal, is_env_set, load,
    path_variable, wrong_lookup,
};
pub use sections::*;
pub use sources::{SourceKind, SourceSettings};
