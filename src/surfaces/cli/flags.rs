//! Flags that every command accepts, and parsers of arguments that several commands accept.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use clap::ArgAction;

use contract::RepositoryAddress;

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
pub(super) fn absolute(text: &str) -> Result<String, String> {
    let path = Path::new(text);
    // A path that does not exist is still made absolute, so that the tool can report it.
    let path =
        path.canonicalize().or_else(|_| std::path::absolute(path)).map_err(|error| error.to_string())?;
    path.into_os_string().into_string().map_err(|_| "the path is not UTF-8".to_owned())
}

/// Parses what to index: an address as it is; what may be `owner/name` as it is if there is no such directory; else an absolute
/// path as [`absolute`] does.
pub(super) fn indexable(text: &str) -> Result<String, String> {
    let is_owner_and_name = !text.starts_with(['.', '/', '~']) && text.contains('/');
    if RepositoryAddress::parse(text).is_some() || (is_owner_and_name && !Path::new(text).exists()) {
        return Ok(text.to_owned());
    }
    absolute(text)
}

/// Parses a repository argument: the absolute path if it is a folder or contains a slash, else the repository's name.
pub(super) fn repository(text: &str) -> Result<String, String> {
    if RepositoryAddress::parse(text).is_some() {
        return Ok(text.to_owned());
    }
    if text.contains('/') || Path::new(text).is_dir() { absolute(text) } else { Ok(text.to_owned()) }
}

/// Parses a whole number; the messages of the standard library are for programmers.
pub(super) fn whole_number<N: TryFrom<i128>>(text: &str) -> Result<N, String> {
    let number: i128 = text.parse().map_err(|_| "it is not a whole number".to_owned())?;
    N::try_from(number).map_err(|_| "it is too small or too large".to_owned())
}

/// Parses a whole number in `range`.
pub(super) fn whole_number_in<N>(text: &str, range: &RangeInclusive<N>) -> Result<N, String>
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
}
