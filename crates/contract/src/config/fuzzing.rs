//! Fuzz target for configuration files, and the default settings for other targets.

use std::sync::LazyLock;

use super::Config;

/// Returns the seed inputs of [`file()`].
pub fn files() -> Vec<Vec<u8>> {
    let example = "[server]\nport = 1\nhosts = [\"a\"]\n[indexing.project_roots]\nclient-a = [\"/src\"]\n[log]\nlevel = \"info\"\n";
    vec![super::load::DEFAULTS.as_bytes().to_vec(), example.as_bytes().to_vec()]
}

/// Loads `data` as a configuration file. Asserts that an error has the usual form.
pub fn file(data: &[u8]) {
    if let Err(error) = super::load::load_text(&String::from_utf8_lossy(data)) {
        assert!(error.0.starts_with("configuration: "), "{error}");
    }
}

/// Returns the settings without a configuration file.
pub fn defaults() -> &'static Config {
    static DEFAULTS: LazyLock<Config> =
        LazyLock::new(|| super::load::load_text("").unwrap_or_else(|error| panic!("{error}")));
    &DEFAULTS
}
