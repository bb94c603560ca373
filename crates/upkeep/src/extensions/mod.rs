//! Libraries that a database loads: the SQLite extension for vectors, and an operator's own in its place.
//!
//! A library is `<platform>/<name>.so` in one folder, with `extensions.json` beside it as the record of where each came
//! from. This program never loads one: [`probe()`] has another program do it, for a short time.

mod bring;
mod catalog;
mod probe;

pub use bring::{BUILT_IN, Brought, Workshop, bring};
pub use catalog::{Catalog, Entry};
pub use probe::{Attempt, Probe, Probed, probe};

use contract::{ErrorCode, Fault};

/// The platform as the manifest names it, for example `linux-x86_64`; parts that are not given are this machine's.
///
/// # Errors
/// `INVALID_REQUEST` for a platform or an architecture that nobody has libraries of.
pub fn platform(system: Option<&str>, arch: Option<&str>) -> Result<String, Fault> {
    let unknown = |what: &str, given: &str, known: &str| {
        Fault::new(ErrorCode::InvalidRequest, format!("There is no {what} `{}`.", given.escape_debug()))
            .with_hint(format!("Known: {known}."))
    };
    let system = match system.unwrap_or(std::env::consts::OS) {
        "linux" => "linux",
        "macos" | "darwin" => "macos",
        other => return Err(unknown("platform", other, "linux, macos")),
    };
    let arch = match arch.unwrap_or(std::env::consts::ARCH) {
        "x86_64" | "x64" | "amd64" => "x86_64",
        "aarch64" | "arm64" => "aarch64",
        other => return Err(unknown("architecture", other, "x86_64, aarch64")),
    };
    Ok(format!("{system}-{arch}"))
}

/// Whether the product's own library for this machine lies in `folder`, with the recorded bytes. Reads the file, which
/// has less than a megabyte.
#[must_use]
pub fn is_installed(folder: &std::path::Path) -> bool {
    let Ok(platform) = platform(None, None) else { return false };
    let catalog = Catalog::read(folder);
    catalog
        .entry(BUILT_IN, &platform)
        .is_some_and(|entry| is_intact(&folder.join(&entry.file), &entry.sha256))
}

/// Whether the bytes of a library are the recorded ones.
#[must_use]
pub fn is_intact(file: &std::path::Path, sha256: &str) -> bool {
    std::fs::read(file).is_ok_and(|bytes| super::dictionaries::sha256(&bytes) == sha256)
}

/// How libraries of a platform end.
#[must_use]
pub fn suffix(platform: &str) -> &'static str {
    if platform.starts_with("macos") { "dylib" } else { "so" }
}
