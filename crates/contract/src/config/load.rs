//! Loads the settings: defaults < configuration file < environment < flags.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use figment::Figment;
use figment::error::{Actual, Kind};
use figment::providers::{Env, Format, Serialized, Toml};

use super::{Config, Layout, default_home};

pub(super) const DEFAULTS: &str = include_str!("defaults.toml");

/// Settings from the command line.
#[derive(Debug, Default, Clone)]
pub struct Overrides {
    /// `--home`.
    pub home: Option<PathBuf>,
    /// `--config`: an existing file to use instead of `<home>/config.toml`.
    pub config_file: Option<PathBuf>,
    /// Values of single settings by dotted name, for example `server.port`.
    pub settings: Vec<(String, figment::value::Value)>,
}

/// A setting is invalid, or the configuration file cannot be read.
#[derive(Debug)]
pub struct ConfigError(pub String);

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

/// Loads the settings from all sources, and the layout of the data directory.
///
/// # Errors
/// [`ConfigError`] with the invalid setting and its source.
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
    let mut config: Config =
        merge_layers(&file, overrides, &switch).extract().map_err(|e| ConfigError(explain(e, &file)))?;
    config.indexing.data_directory = Some(layout.home().to_owned());
    Ok((config, layout))
}

/// Checks that an existing file can be read. Ignoring an unreadable file like a missing one would silently drop settings.
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

/// A value that a switch gives to a setting.
#[derive(Clone, Copy, serde::Serialize)]
#[serde(untagged)]
enum SwitchValue {
    Yes(bool),
    Text(&'static str),
}

/// Environment variables from the specification of the instruction catalog. With the value `1` or `true` they set something, unless the
/// setting is given otherwise.
const SWITCHES: &[(&str, &str, SwitchValue)] = &[
    ("MCP_ENABLE_MUTATION", "instructions.mutation", SwitchValue::Yes(true)),
    ("MCP_LOG_MUTATION", "instructions.log_mutations", SwitchValue::Yes(true)),
    ("MCP_LOG_VERBOSE", "instructions.log_mutations", SwitchValue::Yes(true)),
    ("MCP_LOG_VERBOSE", "log.filter", SwitchValue::Text("debug")),
];

/// Switches that allow something. With `0` or `false` they forbid it, even if the configuration file allows it.
const PERMISSIONS: &[(&str, &str)] = &[("MCP_ENABLE_MUTATION", "instructions.mutation")];

/// Returns the position of a switch in the environment; `None` if it is not set.
#[expect(clippy::disallowed_methods, reason = "only config/ reads the environment")]
fn switch(variable: &str) -> Option<bool> {
    match std::env::var(variable).ok()?.trim().to_ascii_lowercase().as_str() {
        "1" | "true" => Some(true),
        "0" | "false" => Some(false),
        _ => None,
    }
}

fn merge_layers(file: &Path, overrides: &Overrides, switch: &dyn Fn(&str) -> Option<bool>) -> Figment {
    let mut figment = Figment::new().merge(Toml::string(DEFAULTS));
    // Below the file: a setting that the operator wrote down outranks a variable that any client may pass on.
    for (_, setting, value) in SWITCHES.iter().filter(|(variable, ..)| switch(variable) == Some(true)) {
        // Not as a pair, which figment ranks above everything that follows.
        figment = figment.merge(Serialized::default(setting, *value));
    }
    figment = figment.merge(Toml::file(file));
    for (_, setting) in PERMISSIONS.iter().filter(|(variable, _)| switch(variable) == Some(false)) {
        figment = figment.merge(Serialized::default(setting, false));
    }
    figment = figment
        .merge(Env::raw().only(&["DATABASE_URL"]).map(|_| "database.url".into()))
        .merge(Env::raw().only(&["ORT_DYLIB_PATH"]).map(|_| "assets.ort_dylib_path".into()))
        .merge(Env::raw().only(&["PAIROFCLEATS_MCP_TRANSPORT"]).map(|_| "mcp.transport".into()));
    figment =
        figment.merge(Env::prefixed("PAIROFCLEATS_").filter(|key| key.as_str().contains("__")).split("__"));
    for (name, value) in &overrides.settings {
        figment = figment.merge(Serialized::default(name, value));
    }
    figment
}

/// Loads the text of a configuration file over the defaults, without environment and flags.
///
/// # Errors
/// See [`load`].
#[cfg(any(test, feature = "fuzzing"))]
pub(super) fn load_text(text: &str) -> Result<Config, ConfigError> {
    let figment = Figment::new().merge(Toml::string(DEFAULTS)).merge(Toml::string(text));
    figment.extract().map_err(|error| ConfigError(explain(error, Path::new("config.toml"))))
}

/// Checks whether the terminal cannot move its cursor (`TERM=dumb`).
#[expect(clippy::disallowed_methods, reason = "only config/ reads the environment")]
#[must_use]
pub fn is_dumb_terminal() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Returns the environment variables of this process that are UTF-8, for the settings of other programs, such as pip's.
#[must_use]
pub fn environment_variables() -> BTreeMap<String, String> {
    let texts = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    texts.collect()
}

/// Returns the value of an environment variable that names files or folders; `None` if it is empty.
#[expect(clippy::disallowed_methods, reason = "only config/ reads the environment")]
#[must_use]
pub fn path_variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns the failpoint at which a test aborts this process; see `platform::failpoints`.
#[expect(clippy::disallowed_methods, reason = "only config/ reads the environment")]
#[must_use]
pub fn failpoint() -> Option<String> {
    std::env::var("PAIROFCLEATS_FAILPOINT").ok()
}

/// Returns the project lookup whose result a test replaces; see `platform::failpoints`.
#[expect(clippy::disallowed_methods, reason = "only config/ reads the environment")]
#[must_use]
pub fn wrong_lookup() -> Option<String> {
    std::env::var("PAIROFCLEATS_WRONG_LOOKUP").ok()
}

/// Checks whether the environment has a variable with this name, for variables that are not settings of this program.
#[expect(clippy::disallowed_methods, reason = "only config/ reads the environment")]
#[must_use]
pub fn is_env_set(name: &str) -> bool {
    std::env::var_os(name).is_some()
}

/// Formats errors on one line: for each the setting, the problem and the source.
fn explain(errors: figment::Error, file: &Path) -> String {
    let lines: Vec<String> = errors.into_iter().map(|error| explain_one(&error, file)).collect();
    format!("configuration: {}", lines.join("; "))
}

fn explain_one(error: &figment::Error, file: &Path) -> String {
    let key = error.path.join(".");
    let from = match error.metadata.as_ref().map(|metadata| (&metadata.source, &metadata.name)) {
        Some((Some(figment::Source::File(path)), _)) => format!("in {}", path.display()),
        Some((_, name)) if name.to_lowercase().contains("environment") => "in the environment".to_owned(),
        // Values of flags come from code; syntax errors have no source, so they fall through to the file.
        Some((Some(figment::Source::Code(_)), _)) => "given with --set or a flag".to_owned(),
        _ => format!("in {}", file.display()),
    };
    match &error.kind {
        Kind::UnknownField(field, valid_fields) => {
            let unknown = match error.path.split_last() {
                Some((last, _)) if last == field => key,
                Some(_) => format!("{key}.{field}"),
                None => field.clone(),
            };
            let section = unknown.rsplit_once('.').map(|(section, _)| format!("{section}."));
            let section = section.unwrap_or_default();
            let nearest = valid_fields
                .iter()
                .map(|name| (edit_distance(field, name), *name))
                .min()
                .filter(|(distance, _)| *distance <= field.chars().count().div_ceil(2));
            match nearest {
                Some((_, name)) => {
                    format!("unknown setting `{unknown}` {from}; did you mean `{section}{name}`?")
                }
                None => format!("unknown setting `{unknown}` {from}"),
            }
        }
        kind if key.is_empty() => format!("{} ({from})", problem(kind)),
        kind => format!("`{key}`: {} ({from})", problem(kind)),
    }
}

/// Describes the problem in plain words, because figment names the types of Rust.
fn problem(kind: &Kind) -> String {
    match kind {
        Kind::InvalidType(found, expected) | Kind::InvalidValue(found, expected) => {
            format!("{} is not {}", found_value(found), expected_value(expected))
        }
        Kind::UnknownVariant(found, known) => format!("{found:?} is not one of: {}", known.join(", ")),
        other => other.to_string(),
    }
}

fn found_value(found: &Actual) -> String {
    match found {
        Actual::Bool(value) => value.to_string(),
        Actual::Unsigned(number) => number.to_string(),
        Actual::Signed(number) => number.to_string(),
        Actual::Float(number) => number.to_string(),
        Actual::Char(letter) => format!("{:?}", letter.to_string()),
        Actual::Str(text) => format!("{text:?}"),
        Actual::Seq => "a list".to_owned(),
        Actual::Map => "a section".to_owned(),
        other => other.to_string(),
    }
}

fn expected_value(expected: &str) -> &str {
    match expected {
        "u64" | "usize" => "a whole number of at least 0",
        "u32" => "a whole number from 0 to 4294967295",
        "u16" => "a whole number from 0 to 65535",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a string" | "path string" => "a text",
        "a sequence" => "a list",
        "a map" => "a section",
        name if name.starts_with("struct ") => "a section",
        other => other,
    }
}

/// Computes the Levenshtein distance of two words.
fn edit_distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
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
    fn the_defaults_contain_every_setting() {
        let config: Config = Figment::new().merge(Toml::string(DEFAULTS)).extract().unwrap();
        assert_eq!(config.server.port, 7171);
        assert_eq!(config.database.url, None);
    }

    #[test]
    fn inner_timeouts_are_shorter_than_outer_ones() {
        let config: Config = Figment::new().merge(Toml::string(DEFAULTS)).extract().unwrap();
        let (call, database) = (config.timeouts.search_ms, config.database);
        assert!(
            call > config.search.embed_wait_ms + database.search_statement_timeout_ms,
            "the database ends a search before the call times out"
        );
        assert!(database.search_statement_timeout_ms > database.lock_timeout_ms);
        assert!(database.statement_timeout_ms > database.lock_timeout_ms);
    }

    #[test]
    fn values_of_a_wrong_type_are_reported_in_plain_words() {
        let dir = tempfile::tempdir().unwrap();
        let cases: [(&str, figment::value::Value, &str); 6] = [
            ("search.top_default", "abc".into(), "\"abc\" is not a whole number of at least 0"),
            ("search.top_default", (-1).into(), "-1 is not a whole number of at least 0"),
            ("server.port", 65_536.into(), "65536 is not a whole number from 0 to 65535"),
            ("tools.read_only", "maybe".into(), "\"maybe\" is not true or false"),
            ("server.bind", 1.into(), "1 is not a text"),
            ("search", 1.into(), "1 is not a section"),
        ];
        for (setting, value, expected) in cases {
            let settings = vec![(setting.to_owned(), value)];
            let home = Some(dir.path().to_owned());
            let error = load(&Overrides { home, settings, ..Overrides::default() }).unwrap_err();
            assert!(error.0.contains(&format!("`{setting}`: {expected} (given with")), "{error}");
        }
    }

    #[test]
    fn a_switch_of_the_environment_yields_to_what_the_operator_wrote() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        let config = |text: &str, flags: &[(&str, bool)], position: Option<bool>| {
            std::fs::write(&file, text).unwrap();
            let settings = flags.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
            let flags = Overrides { settings, ..Overrides::default() };
            merge_layers(&file, &flags, &|_| position).extract::<Config>().unwrap()
        };
        let (yes, no) = ("[instructions]\nmutation = true\n", "[instructions]\nmutation = false\n");
        for (text, flags, position, expected) in [
            ("", &[][..], None, false),
            ("", &[], Some(true), true),
            (no, &[], Some(true), false),
            ("", &[("instructions.mutation", false)], Some(true), false),
            (no, &[("instructions.mutation", true)], None, true),
            (yes, &[], None, true),
            (yes, &[], Some(false), false),
            ("", &[], Some(false), false),
        ] {
            let found = config(text, flags, position).instructions.mutation;
            assert_eq!(found, expected, "{text:?} {flags:?} {position:?}");
        }
        let quiet = "[instructions]\nlog_mutations = false\n[log]\nfilter = \"warn\"\n";
        let loaded = config(quiet, &[], Some(true));
        assert_eq!((loaded.instructions.log_mutations, loaded.log.filter.as_str()), (false, "warn"));
        assert_eq!(config("", &[], Some(true)).log.filter, "debug");
        let logged = config("[instructions]\nlog_mutations = true\n", &[], Some(false));
        assert!(logged.instructions.log_mutations, "less is not logged because a variable says so");
    }

    #[test]
    fn flags_override_files_and_unknown_settings_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        std::fs::write(&file, "[server]\nport = 1\n").unwrap();
        let flags = Overrides { settings: vec![("server.port".into(), 2.into())], ..Overrides::default() };
        assert_eq!(merge_layers(&file, &flags, &|_| None).extract::<Config>().unwrap().server.port, 2);
        assert_eq!(
            merge_layers(&file, &Overrides::default(), &|_| None).extract::<Config>().unwrap().server.port,
            1
        );

        std::fs::write(&file, "[server]\nprot = 1\n").unwrap();
        let error = merge_layers(&file, &Overrides::default(), &|_| None).extract::<Config>().unwrap_err();
        let message = explain(error, &file);
        assert!(message.contains("prot"), "{message}");
    }
}
