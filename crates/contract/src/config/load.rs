//! Layering: defaults < config file < environment < flags.

use std::io;
use std::path::{Path, PathBuf};

use figment::Figment;
use figment::providers::{Env, Format, Serialized, Toml};

use super::{Config, Layout, default_home};

pub(super) const DEFAULTS: &str = include_str!("defaults.toml");

/// What the command line says about configuration.
#[derive(Debug, Default, Clone)]
pub struct Overrides {
    /// `--home`.
    pub home: Option<PathBuf>,
    /// `--config`: a file instead of `<home>/config.toml`; it must exist.
    pub config_file: Option<PathBuf>,
    /// Single settings by dotted name, for example `server.port`.
    pub settings: Vec<(String, figment::value::Value)>,
}

/// A setting is wrong or a config file cannot be read.
#[derive(Debug)]
pub struct ConfigError(pub String);

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

/// Reads the environment and the files, once.
///
/// # Errors
/// Names the setting and where its bad value came from.
pub fn load(overrides: &Overrides) -> Result<(Config, Layout), ConfigError> {
    let home =
        overrides.home.clone().or_else(|| path_variable("PAIROFCLEATS_HOME")).unwrap_or_else(default_home);
    let home = std::path::absolute(&home).map_err(|e| ConfigError(format!("{}: {e}", home.display())))?;
    let layout = Layout::new(home);
    let file = match &overrides.config_file {
        Some(file) if !file.is_file() => {
            return Err(ConfigError(format!("--config {}: no such file", file.display())));
        }
        Some(file) => file.clone(),
        None => layout.config_file(),
    };
    require_readable(&file)?;
    let config: Config = layered(&file, overrides).extract().map_err(|e| ConfigError(explain(e, &file)))?;
    Ok((config, layout))
}

/// A file that is there and cannot be read is no missing one: settings that somebody relies on would not hold.
fn require_readable(file: &Path) -> Result<(), ConfigError> {
    match std::fs::File::open(file) {
        Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(ConfigError(format!(
                "{} cannot be read ({}): start as the user who owns the data directory, or set PAIROFCLEATS_HOME to one of your own",
                file.display(),
                error.kind()
            )))
        }
        _ => Ok(()),
    }
}

fn layered(file: &Path, overrides: &Overrides) -> Figment {
    let mut figment = Figment::new()
        .merge(Toml::string(DEFAULTS))
        .merge(Toml::file(file))
        .merge(Env::raw().only(&["DATABASE_URL"]).map(|_| "database.url".into()))
        .merge(Env::raw().only(&["ORT_DYLIB_PATH"]).map(|_| "assets.ort_dylib_path".into()))
        .merge(Env::raw().only(&["PAIROFCLEATS_MCP_TRANSPORT"]).map(|_| "mcp.transport".into()))
        .merge(Env::prefixed("PAIROFCLEATS_").filter(|key| key.as_str().contains("__")).split("__"));
    for (name, value) in &overrides.settings {
        figment = figment.merge(Serialized::default(name, value));
    }
    figment
}

/// The defaults below the text of one file, and nothing of the environment.
///
/// # Errors
/// As [`load`].
#[cfg(any(test, feature = "fuzzing"))]
pub(super) fn over_defaults(text: &str) -> Result<Config, ConfigError> {
    let figment = Figment::new().merge(Toml::string(DEFAULTS)).merge(Toml::string(text));
    figment.extract().map_err(|error| ConfigError(explain(error, Path::new("config.toml"))))
}

/// Whether the terminal says that it cannot move its cursor (`TERM=dumb`).
#[expect(clippy::disallowed_methods, reason = "config/ is the one reader of the environment")]
#[must_use]
pub fn is_dumb_terminal() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

#[expect(clippy::disallowed_methods, reason = "config/ is the one reader of the environment")]
fn path_variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Where a test lets this process die (`failpoints`).
#[expect(clippy::disallowed_methods, reason = "config/ is the one reader of the environment")]
#[must_use]
pub fn failpoint() -> Option<String> {
    std::env::var("PAIROFCLEATS_FAILPOINT").ok()
}

/// Which look-up of a project a test lets lie (`failpoints`).
#[expect(clippy::disallowed_methods, reason = "config/ is the one reader of the environment")]
#[must_use]
pub fn lie() -> Option<String> {
    std::env::var("PAIROFCLEATS_LIE").ok()
}

/// Whether the environment has a variable of that name, for switches that are other programs' own.
#[expect(clippy::disallowed_methods, reason = "config/ is the one reader of the environment")]
#[must_use]
pub fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some()
}

/// One line an error: which setting, what is wrong with it, where it came from.
fn explain(errors: figment::Error, file: &Path) -> String {
    let lines: Vec<String> = errors.into_iter().map(|error| explain_one(&error, file)).collect();
    format!("configuration: {}", lines.join("; "))
}

fn explain_one(error: &figment::Error, file: &Path) -> String {
    let key = error.path.join(".");
    let from = match error.metadata.as_ref().map(|metadata| (&metadata.source, &metadata.name)) {
        Some((Some(figment::Source::File(path)), _)) => format!("in {}", path.display()),
        Some((_, name)) if name.to_lowercase().contains("environment") => "in the environment".to_owned(),
        // What a flag says stands in no file; a text that cannot be parsed names none either.
        Some((Some(figment::Source::Code(_)), _)) => "given with --set or a flag".to_owned(),
        _ => format!("in {}", file.display()),
    };
    match &error.kind {
        figment::error::Kind::UnknownField(found, known) => {
            let unknown = match error.path.split_last() {
                Some((last, _)) if last == found => key,
                Some(_) => format!("{key}.{found}"),
                None => found.clone(),
            };
            let section = unknown.rsplit_once('.').map(|(section, _)| format!("{section}."));
            let section = section.unwrap_or_default();
            let nearest = known
                .iter()
                .map(|name| (distance(found, name), *name))
                .min()
                .filter(|(distance, _)| *distance <= found.chars().count().div_ceil(2));
            match nearest {
                Some((_, name)) => {
                    format!("unknown setting `{unknown}` {from}; did you mean `{section}{name}`?")
                }
                None => format!("unknown setting `{unknown}` {from}"),
            }
        }
        kind if key.is_empty() => format!("{kind} ({from})"),
        kind => format!("`{key}`: {kind} ({from})"),
    }
}

/// How many letters must be put in, taken out or changed to make one word of the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (column, expected) in other.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *expected);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_complete_and_known() {
        let config: Config = Figment::new().merge(Toml::string(DEFAULTS)).extract().unwrap();
        assert_eq!(config.server.port, 7171);
        assert_eq!(config.database.url, None);
    }

    #[test]
    fn time_limits_nest() {
        let config: Config = Figment::new().merge(Toml::string(DEFAULTS)).extract().unwrap();
        let (call, database) = (config.timeouts.search_ms, config.database);
        assert!(
            call > config.search.embed_wait_ms + database.search_statement_timeout_ms,
            "a search ends by itself"
        );
        assert!(database.search_statement_timeout_ms > database.lock_timeout_ms);
        assert!(database.statement_timeout_ms > database.lock_timeout_ms);
    }

    #[test]
    fn flags_beat_files_and_unknown_settings_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        std::fs::write(&file, "[server]\nport = 1\n").unwrap();
        let flags = Overrides { settings: vec![("server.port".into(), 2.into())], ..Overrides::default() };
        assert_eq!(layered(&file, &flags).extract::<Config>().unwrap().server.port, 2);
        assert_eq!(layered(&file, &Overrides::default()).extract::<Config>().unwrap().server.port, 1);

        std::fs::write(&file, "[server]\nprot = 1\n").unwrap();
        let message = explain(layered(&file, &Overrides::default()).extract::<Config>().unwrap_err(), &file);
        assert!(message.contains("prot"), "{message}");
    }
}
