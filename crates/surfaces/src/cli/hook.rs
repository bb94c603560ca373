//! `hook`: git hooks that refresh the index in the background after a commit, merge, checkout or rebase.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use super::flags::absolute;
use super::output::{BOLD, GOOD, PATH, styled};
use super::session::{CommandResult, Exit, Session};
use contract::{ErrorCode, Fault, ProjectId};
use gate::app::blocking;
use platform::process::Program;
use platform::safe_open;

/// The hooks that git runs after it has changed files or history.
const HOOKS: [&str; 4] = ["post-commit", "post-merge", "post-checkout", "post-rewrite"];
/// The line by which a hook is recognised as written by this program.
const MARK: &str = "# written by `pairofcleats hook`";
/// File extension of the backup when `--force` replaces another hook.
const BACKUP_EXTENSION: &str = "before-pairofcleats";
/// The number of bytes of a hook that are searched for that line.
const HOOK_BYTES_MAX: u64 = 65_536;
/// Time limit of the git command that prints the hooks folder.
const GIT_TIMEOUT: Duration = Duration::from_secs(10);

/// Arguments of `hook`.
#[derive(Debug, clap::Args)]
pub(super) struct HookArgs {
    /// Install the hooks in this repository instead of printing the script
    #[arg(long, value_name = "PATH", value_parser = absolute)]
    install: Option<String>,
    /// Project to index into [default: resolved as for `index`]
    #[arg(long, value_name = "ID")]
    project: Option<String>,
    /// Replace existing hooks; each is kept as NAME.before-pairofcleats
    #[arg(long, requires = "install")]
    force: bool,
}

/// The result that `--json` prints.
#[derive(Debug, Serialize)]
struct InstalledHooks {
    hooks: Vec<PathBuf>,
}

/// Entry point of `hook`.
pub(super) async fn print_or_install_hooks(session: &Session, args: HookArgs) -> CommandResult {
    if let Some(id) = &args.project {
        ProjectId::parse(id).map_err(Fault::from)?;
    }
    let program = std::env::current_exe()
        .map_err(|error| Fault::internal("The path of the running program is unknown.", error))?;
    let script = script(&program, session, args.project.as_deref());
    let Some(path) = args.install else {
        session.output.print_text(&script);
        return Ok(Exit::Ok);
    };
    let hooks = blocking(move || install(Path::new(&path), &script, args.force)).await?;
    let mut text = String::new();
    for hook in &hooks {
        let _ = writeln!(
            text,
            "{} {} {}",
            styled(GOOD, "✓"),
            styled(BOLD, "installed"),
            styled(PATH, &hook.display().to_string())
        );
    }
    Ok(session.print_result(&InstalledHooks { hooks }, &text))
}

/// Returns the script, which is the same for all hooks. It unsets the variables that git sets for the command that triggered the
/// hook, because they would override the path that is indexed.
fn script(program: &Path, session: &Session, project: Option<&str>) -> String {
    let mut command = quoted(&program.to_string_lossy());
    let home = session.app.layout.home();
    let _ = write!(command, " --quiet --home {}", quoted(&home.to_string_lossy()));
    if let Some(config) = &session.config_file {
        let _ = write!(command, " --config {}", quoted(&config.to_string_lossy()));
    }
    command.push_str(" index \"$top\" --fresh");
    if let Some(project) = project {
        let _ = write!(command, " --project {}", quoted(project));
    }
    format!(
        "#!/bin/sh\n{MARK}: refreshes the index in the background.\n\
         # Git does not wait for it, and a failure does not affect git; run `pairofcleats index` to see errors.\n\
         top=$(git rev-parse --show-toplevel) || exit 0\n\
         (\n  unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE\n  exec {command}\n) </dev/null >/dev/null 2>&1 &\nexit 0\n"
    )
}

/// Quotes a word for a POSIX shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Writes all hooks, or none if there is one that this program did not write; with `force`, renames such hooks to backups first.
fn install(repository: &Path, script: &str, force: bool) -> Result<Vec<PathBuf>, Fault> {
    let folder = hooks_folder(repository)?;
    let unwritable =
        |error| Fault::internal(format!("The hooks in {} could not be written.", folder.display()), error);
    let hooks: Vec<PathBuf> = HOOKS.iter().map(|name| folder.join(name)).collect();
    let foreign: Vec<&PathBuf> = hooks.iter().filter(|hook| is_foreign(hook)).collect();
    if let (Some(first), false) = (foreign.first(), force) {
        return Err(Fault::new(
            ErrorCode::IllegalState,
            format!(
                "The hook {} already exists and was not written by pairofcleats; nothing was changed.",
                first.display()
            ),
        )
        .with_hint(
            "Add the lines that `pairofcleats hook` prints to that hook, or replace it with --force.",
        ));
    }
    std::fs::create_dir_all(&folder).map_err(unwritable)?;
    for hook in foreign {
        std::fs::rename(hook, hook.with_extension(BACKUP_EXTENSION)).map_err(unwritable)?;
    }
    for hook in &hooks {
        let temporary = hook.with_extension("unfinished");
        // `create_new` never follows a link that another process left under this name.
        let _ = std::fs::remove_file(&temporary);
        std::fs::File::create_new(&temporary)
            .and_then(|mut file| file.write_all(script.as_bytes()))
            .and_then(|()| std::fs::set_permissions(&temporary, std::fs::Permissions::from_mode(0o755)))
            .and_then(|()| std::fs::rename(&temporary, hook))
            .map_err(unwritable)?;
    }
    Ok(hooks)
}

fn is_foreign(hook: &Path) -> bool {
    let mut text = Vec::new();
    let read =
        safe_open::open_regular_file(hook).and_then(|file| file.take(HOOK_BYTES_MAX).read_to_end(&mut text));
    match read {
        Ok(_) => !String::from_utf8_lossy(&text).contains(MARK),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound || hook.symlink_metadata().is_ok(),
    }
}

/// Returns the folder where git looks for hooks. Asks git, because `core.hooksPath`, linked work trees and submodules change it.
fn hooks_folder(repository: &Path) -> Result<PathBuf, Fault> {
    let mut git = Program::new("git").arg("-C").arg(repository);
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        git = git.env_remove(variable);
    }
    let output = git
        .args(["rev-parse", "--path-format=absolute", "--git-path", "hooks"])
        .run(GIT_TIMEOUT, &|| false)?;
    let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !output.status.success() || path.is_empty() {
        return Err(Fault::new(ErrorCode::NotFound, "The folder is not in a git repository.")
            .with_hint("Name a folder in a git work tree; `git rev-parse` there shows the cause."));
    }
    Ok(path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_the_shell() {
        assert_eq!(quoted("/a b/it's"), "'/a b/it'\\''s'");
    }
}
