//! An installation that all tests and benchmarks on a machine share, so that assets are downloaded once.
//!
//! Not behind `cfg(test)`, because integration tests and benchmarks are separate crates.

use std::path::PathBuf;

use super::{AssetSelection, InstalledAssets, install_assets};
use contract::Fault;
use contract::config::{Assets, Layout, Variant};

const NAME: &str = "pairofcleats-test-assets";

/// Returns the user's cache folder; for root, a folder that the Postgres user can enter.
#[must_use]
pub fn test_home() -> Layout {
    let cache = if rustix::process::geteuid().is_root() {
        PathBuf::from("/var/cache").join(NAME)
    } else {
        directories::ProjectDirs::from("", "", NAME)
            .map_or_else(|| std::env::temp_dir().join(NAME), |dirs| dirs.cache_dir().to_path_buf())
    };
    Layout::new(cache)
}

/// Installs into [`test_home`] with the default settings and the given variant.
///
/// # Errors
/// See [`install_assets`].
pub fn install_for_tests(selection: AssetSelection, variant: Variant) -> Result<InstalledAssets, Fault> {
    let settings = Assets { variant, ..default_settings() };
    install_assets(&test_home(), &settings, selection, None, &|| false, &|_| ())
}

/// Returns the settings of `defaults.toml`. Tests cannot load the configuration, because that reads the environment.
pub(super) fn default_settings() -> Assets {
    Assets {
        package_index: None,
        python: "python3".to_owned(),
        model: "all-minilm-l6-v2".to_owned(),
        ort_dylib_path: None,
        model_dir: None,
        manifest: None,
        variant: Variant::Auto,
        download_ms: 60_000,
    }
}
