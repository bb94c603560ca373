//! What fuzzing drives here: configuration files; and the defaults, for targets that want settings.

use std::sync::LazyLock;

use super::Config;

/// Configuration files to begin with.
pub fn files() -> Vec<Vec<u8>> {
    let some = "[server]\nport = 1\nhosts = [\"a\"]\n[indexing.project_roots]\nclient-a = [\"/src\"]\n[log]\nlevel = \"info\"\n";
    vec![super::load::DEFAULTS.as_bytes().to_vec(), some.as_bytes().to_vec()]
}

/// A configuration file: it is taken, or what is wrong with it is said.
pub fn file(data: &[u8]) {
    if let Err(error) = super::load::over_defaults(&String::from_utf8_lossy(data)) {
        assert!(error.0.starts_with("configuration: "), "{error}");
    }
}

/// What holds where the operator says nothing.
pub fn defaults() -> &'static Config {
    static DEFAULTS: LazyLock<Config> =
        LazyLock::new(|| super::load::over_defaults("").unwrap_or_else(|error| panic!("{error}")));
    &DEFAULTS
}
