//! Determines how other programs start this one later. The path of the running program may be temporary.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// The command that starts the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StartCommand {
    /// A path, or the name of a program that runs ours.
    pub(super) command: PathBuf,
    /// The arguments before our own.
    pub(super) arguments: &'static [&'static str],
    /// The reason why it is not the path of the running program; `None` if it is.
    pub(super) reason: Option<&'static str>,
}

/// Returns the command that starts `program`, even after the cache that contains it was pruned or a newer version was installed.
/// `uv_cache` is the folder that `UV_CACHE_DIR` names.
pub(super) fn start_command(program: &Path, uv_cache: Option<&Path>) -> StartCommand {
    let through = |command: &str, arguments, reason| StartCommand {
        command: command.into(),
        arguments,
        reason: Some(reason),
    };
    let mut folders = program.parent().into_iter().flat_map(Path::components);
    if uv_cache.is_some_and(|cache| program.starts_with(cache)) || folders.clone().any(is_uv_environment) {
        let reason = "this program runs from uv's cache, so agents start it with `uvx pairofcleats`; `uv tool install \
            pairofcleats` gives it a path of its own";
        return through("uvx", &["pairofcleats"], reason);
    }
    if folders.any(|folder| folder.as_os_str() == "_npx") {
        let reason = "this program runs from npm's cache, so agents start it with `npx -y pairofcleats`; `npm install \
            --global pairofcleats` gives it a path of its own";
        return through("npx", &["-y", "pairofcleats"], reason);
    }
    if let Some(link) = homebrew_link(program) {
        let reason = "Homebrew replaces the folder of this version, so agents start its link";
        return StartCommand { command: link, arguments: &[], reason: Some(reason) };
    }
    StartCommand { command: program.to_owned(), arguments: &[], reason: None }
}

/// Checks whether a folder is one where uv keeps the environments of `uvx`: `archive-v0`, `environments-v2`.
fn is_uv_environment(folder: Component<'_>) -> bool {
    let Some(name) = folder.as_os_str().to_str() else { return false };
    let version = name.strip_prefix("archive-v").or_else(|| name.strip_prefix("environments-v"));
    version.is_some_and(|version| !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns `PREFIX/bin/NAME` for `PREFIX/Cellar/FORMULA/VERSION/bin/NAME`.
fn homebrew_link(program: &Path) -> Option<PathBuf> {
    let cellar = program.ancestors().find(|folder| folder.file_name() == Some(OsStr::new("Cellar")))?;
    Some(cellar.parent()?.join("bin").join(program.file_name()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_does_not_stay_is_replaced_by_a_command_that_does() {
        let uvx = ("uvx", &["pairofcleats"][..]);
        let npx = ("npx", &["-y", "pairofcleats"][..]);
        type Row<'a> = (&'a str, Option<&'a str>, (&'a str, &'a [&'a str]));
        let table: &[Row<'_>] = &[
            ("/home/a/.cache/uv/archive-v0/Ab3/bin/pairofcleats", None, uvx),
            ("/home/a/Library/Caches/uv/environments-v2/x/bin/pairofcleats", None, uvx),
            ("/mnt/cache/x/bin/pairofcleats", Some("/mnt/cache"), uvx),
            ("/mnt/cached/x/bin/pairofcleats", Some("/mnt/cache"), ("/mnt/cached/x/bin/pairofcleats", &[])),
            ("/home/a/.npm/_npx/0f/node_modules/@pairofcleats/linux-x64/bin/pairofcleats", None, npx),
            (
                "/opt/homebrew/Cellar/pairofcleats/1.2.3/bin/pairofcleats",
                None,
                ("/opt/homebrew/bin/pairofcleats", &[]),
            ),
            ("/usr/local/bin/pairofcleats", None, ("/usr/local/bin/pairofcleats", &[])),
            (
                "/home/a/.local/share/uv/tools/pairofcleats/bin/pairofcleats",
                None,
                ("/home/a/.local/share/uv/tools/pairofcleats/bin/pairofcleats", &[]),
            ),
            ("/srv/archive-vx/pairofcleats", None, ("/srv/archive-vx/pairofcleats", &[])),
            ("/srv/archive-v1", None, ("/srv/archive-v1", &[])),
            ("pairofcleats", None, ("pairofcleats", &[])),
        ];
        for (program, cache, (command, arguments)) in table {
            let found = start_command(Path::new(program), cache.map(Path::new));
            assert_eq!(
                (found.command.as_path(), found.arguments),
                (Path::new(command), *arguments),
                "{program}"
            );
            assert_eq!(found.reason.is_none(), Path::new(program) == found.command, "{program}");
        }
    }
}
