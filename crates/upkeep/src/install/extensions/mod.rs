//! SQLite extensions: the built-in one for vectors, and those that the operator installs.
//!
//! Each is a file `<platform>/<name>.so` in one folder with the catalog `extensions.json`. This process never loads
//! one: [`probe_extension`] lets a child process load it, within a time limit.

mod catalog;
mod install;
mod probe;

pub use catalog::ExtensionEntry;
pub use install::{BUILT_IN, InstalledExtensions, install_extensions};
pub use probe::{ExtensionProbe, ProbeReport, ProbeStep, probe_extension};

use std::path::Path;

use super::catalog::DownloadCatalog;
use contract::{ErrorCode, Fault};

/// Returns the platform's name in the manifest, for example `linux-x86_64`. The defaults are those of this machine.
///
/// # Errors
/// `INVALID_REQUEST` for an unsupported system or architecture.
pub fn platform_name(system: Option<&str>, arch: Option<&str>) -> Result<String, Fault> {
    let unsupported = |what: &str, given: &str, supported: &str| {
        Fault::new(
            ErrorCode::InvalidRequest,
            format!("The {what} `{}` is not supported.", given.escape_debug()),
        )
        .with_hint(format!("Supported: {supported}."))
    };
    let system = match system.unwrap_or(std::env::consts::OS) {
        "linux" => "linux",
        "macos" | "darwin" => "macos",
        other => return Err(unsupported("platform", other, "linux, macos")),
    };
    let arch = match arch.unwrap_or(std::env::consts::ARCH) {
        "x86_64" | "x64" | "amd64" => "x86_64",
        "aarch64" | "arm64" => "aarch64",
        other => return Err(unsupported("architecture", other, "x86_64, aarch64")),
    };
    Ok(format!("{system}-{arch}"))
}

/// Returns the catalog's entry of the built-in library for `platform`.
#[must_use]
pub fn built_in_entry(folder: &Path, platform: &str) -> Option<ExtensionEntry> {
    DownloadCatalog::read(folder).find(BUILT_IN, platform).cloned()
}

/// Checks whether the built-in library for this machine is installed in `folder` with the recorded sha256. Reads the file, which has less
/// than a megabyte.
#[must_use]
pub fn is_installed(folder: &Path) -> bool {
    let Ok(platform) = platform_name(None, None) else { return false };
    DownloadCatalog::<ExtensionEntry>::read(folder).find_intact(folder, BUILT_IN, &platform).is_some()
}

/// Returns the file name extension of a platform's shared libraries.
#[must_use]
pub fn library_suffix(platform: &str) -> &'static str {
    if platform.starts_with("macos") { "dylib" } else { "so" }
}
