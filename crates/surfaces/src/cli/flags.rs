//! Flags that every command accepts, and parsers of arguments that several commands share.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use clap::ArgAction;

use contract::{ErrorCode, Fault, ProjectId, RepositoryAddress, config, escaped_line};
use gate::tools::on_default_host;

/// Flags that every command accepts.
#[derive(Debug, clap::Args)]
pub(super) struct GlobalFlags {
    /// Data directory [env: PAIROFCLEATS_HOME] [default: the platform's data directory]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global")]
    pub(super) home: Option<PathBuf>,
    /// Configuration file instead of HOME/config.toml
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global")]
    pub(super) config: Option<PathBuf>,
    /// Set one configuration value, for example `--set search.top_default=5`
    #[arg(long, global = true, value_name = "SECTION.KEY=VALUE", help_heading = "Global", value_parser = parse_setting)]
    pub(super) set: Vec<Setting>,
    /// Print the result envelope as one line of JSON
    #[arg(long, global = true, help_heading = "Global")]
    pub(super) json: bool,
    /// Suppress progress and notes
    #[arg(short, long, global = true, help_heading = "Global")]
    pub(super) quiet: bool,
    /// When to use colours: auto (on terminals, unless NO_COLOR is set), always, never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        value_enum,
        hide_possible_values = true,
        help_heading = "Global"
    )]
    pub(super) color: Option<When>,
    /// When paths are links that terminals open: auto (on terminals known to have them), always, never; links need colours
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        value_enum,
        hide_possible_values = true,
        help_heading = "Global"
    )]
    pub(super) hyperlinks: Option<When>,
    /// Print long results at once instead of through a pager
    #[arg(long, global = true, help_heading = "Global")]
    pub(super) no_pager: bool,
    /// Log more to stderr; repeat for debug output
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = "Global")]
    pub(super) verbose: u8,
}

/// When to use what only some terminals have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum When {
    /// Where stdout has it.
    #[default]
    Auto,
    /// Everywhere, also in pipes.
    Always,
    /// Nowhere.
    Never,
}

/// One configuration value by its dotted name.
pub(super) type Setting = (String, String);

fn parse_setting(text: &str) -> Result<Setting, String> {
    match text.split_once('=') {
        Some((name, value)) if name.contains('.') => Ok((name.trim().to_owned(), value.to_owned())),
        _ => Err("write it as section.key=value".to_owned()),
    }
}

/// Resolves a path argument to an absolute path without symbolic links, because a tool does not know the caller's
/// working directory.
///
/// # Errors
/// The reason, as a part of a sentence.
pub fn absolute(text: &str) -> Result<String, String> {
    let path = Path::new(text);
    // A path that does not exist is still made absolute, so that the tool can report it.
    let path =
        path.canonicalize().or_else(|_| std::path::absolute(path)).map_err(|error| error.to_string())?;
    path.into_os_string().into_string().map_err(|_| "the path is not UTF-8".to_owned())
}

/// Parses an address, which is kept unchanged, or a path as [`absolute`] does.
pub(super) fn address_or_absolute(text: &str) -> Result<String, String> {
    if RepositoryAddress::parse(text).is_some() { Ok(text.to_owned()) } else { absolute(text) }
}

/// Resolves the argument that names what to index: an address is kept; an existing path becomes absolute; `owner/name` becomes its address
/// on `git.default_host`; anything else becomes an absolute path all the same, so that the tool reports that it does not exist.
///
/// # Errors
/// `INVALID_REQUEST` if it can be none of these.
pub(super) fn indexable(text: &str, settings: &config::Git) -> Result<String, Fault> {
    let path = Path::new(text);
    let hosted = if path.exists() { None } else { on_default_host(path, settings) };
    hosted.map_or_else(|| address_or_absolute(text), Ok).map_err(|why| {
        Fault::new(ErrorCode::InvalidRequest, format!("`{}` cannot be indexed: {why}.", escaped_line(text)))
            .with_hint("Name a directory, an archive, or the address of a git repository.")
    })
}

/// Parses a repository argument: an address in its canonical spelling, the absolute path if it is a folder or contains a slash,
/// else the repository's name.
///
/// # Errors
/// The reason, as a part of a sentence.
pub fn repository(text: &str) -> Result<String, String> {
    match RepositoryAddress::parse(text) {
        Some(Ok(address)) => return Ok(address.as_str().to_owned()),
        // The tool reports the error.
        Some(Err(_)) => return Ok(text.to_owned()),
        None => {}
    }
    if text.contains('/') || Path::new(text).is_dir() { absolute(text) } else { Ok(text.to_owned()) }
}

/// Parses a project ID argument.
///
/// # Errors
/// The rule that the ID breaks.
pub fn parse_project_id(text: &str) -> Result<ProjectId, String> {
    ProjectId::parse(text).map_err(|error| error.constraint.to_owned())
}

/// Parses a whole number; the messages of the standard library are meant for programmers.
///
/// # Errors
/// The reason, as a part of a sentence.
pub fn whole_number<N: TryFrom<i128>>(text: &str) -> Result<N, String> {
    let number: i128 = text.parse().map_err(|_| "it is not a whole number".to_owned())?;
    N::try_from(number).map_err(|_| "it is too small or too large".to_owned())
}

/// Parses a whole number in `range`.
///
/// # Errors
/// The reason, as a part of a sentence.
pub fn whole_number_in<N>(text: &str, range: &RangeInclusive<N>) -> Result<N, String>
where
    N: TryFrom<i128> + PartialOrd + Display,
{
    whole_number::<N>(text)
        .ok()
        .filter(|number| range.contains(number))
        .ok_or_else(|| format!("it is not a whole number from {} to {}", range.start(), range.end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_refused_in_plain_words() {
        assert_eq!(whole_number::<i64>("-1"), Ok(-1));
        assert_eq!(whole_number_in("65535", &(0..=u16::MAX)), Ok(65_535));
        for text in ["abc", "", "1.5"] {
            assert_eq!(whole_number::<u32>(text).unwrap_err(), "it is not a whole number");
        }
        assert_eq!(whole_number::<u32>("-1").unwrap_err(), "it is too small or too large");
        for text in ["abc", "-1", "65536"] {
            let refusal = whole_number_in(text, &(0..=u16::MAX)).unwrap_err();
            assert_eq!(refusal, "it is not a whole number from 0 to 65535");
        }
    }

    #[test]
    fn relative_paths_become_absolute() {
        assert!(absolute(".").unwrap().starts_with('/'));
        assert!(absolute("no/such/dir").unwrap().ends_with("/no/such/dir"));
        assert!(repository("src").unwrap().starts_with('/') && repository("./x").unwrap().starts_with('/'));
        assert_eq!(repository("no-such-folder").unwrap(), "no-such-folder");
    }

    #[test]
    fn addresses_stay_addresses() {
        for text in ["https://host/acme/shop", "git@host:acme/shop.git"] {
            assert_eq!(address_or_absolute(text).as_deref(), Ok(text));
        }
        assert!(address_or_absolute("no/such/dir").unwrap().starts_with('/'));
        assert_eq!(repository("git@host:acme/shop.git").unwrap(), "ssh://git@host/acme/shop");
    }

    #[test]
    fn what_is_indexed_is_an_address_or_an_absolute_path() {
        let home = tempfile::tempdir().unwrap();
        let overrides =
            config::Overrides { home: Some(home.path().to_owned()), ..config::Overrides::default() };
        let mut settings = config::load(&overrides).unwrap().0.git;
        settings.default_host = None;
        let absent = std::env::current_dir().unwrap().join("acme/shop");
        assert_eq!(Path::new(&indexable("acme/shop", &settings).unwrap()), absent);
        settings.default_host = Some("https://host/".to_owned());
        assert_eq!(indexable("acme/shop", &settings).unwrap(), "https://host/acme/shop");
        for text in ["https://other/acme/shop", "git@host:acme/shop"] {
            assert_eq!(indexable(text, &settings).unwrap(), text);
        }
        // An existing path is taken as such, and only a pair of names is completed.
        for text in [".", "src/cli", "./acme/shop", "../acme/shop", "shop", "/no/such/dir"] {
            assert!(indexable(text, &settings).unwrap().starts_with('/'), "{text}");
        }
        assert_eq!(indexable("", &settings).unwrap_err().code, ErrorCode::InvalidRequest);
    }
}
