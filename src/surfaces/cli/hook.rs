//! `hook`: git hooks that refresh the index in the background after a commit, a merge, a checkout or a rebase.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use super::arguments::absolute;
use super::output::{BOLD, GOOD, PATH, styled};
use super::session::{Exit, Ran, Session};
use crate::app::blocking;
use crate::surfaces::answer;
use contract::{ErrorCode, Fault, ProjectId};
use platform::beneath;
use platform::process::Program;

/// When git has changed files or history.
const HOOKS: [&str; 4] = ["post-commit", "post-merge", "post-checkout", "post-rewrite"];
/// By this line a hook is known as ours.
const MARK: &str = "# written by `pairofcleats hook`";
/// What a foreign hook is renamed to when `--force` replaces it.
const KEPT_AS: &str = "before-pairofcleats";
/// How much of a hook is looked at for that line.
const HOOK_BYTES_MAX: u64 = 65_536;
/// How long git may take to say where its hooks are.
const GIT_LIMIT: Duration = Duration::from_secs(10);

/// Arguments of `hook`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Write the hooks into this repository instead of printing one
    #[arg(long, value_name = "PATH", value_parser = absolute)]
    install: Option<String>,
    /// Project to index into [default: as `index` finds it]
    #[arg(long, value_name = "ID")]
    project: Option<String>,
    /// Replace hooks of others; each is kept beside, as NAME.before-pairofcleats
    #[arg(long, requires = "install")]
    force: bool,
}

/// The result that `--json` prints.
#[derive(Debug, Serialize)]
struct Installed {
    hooks: Vec<PathBuf>,
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: Args) -> Ran {
    if let Some(id) = &args.project {
        ProjectId::parse(id).map_err(Fault::from)?;
    }
    let program = std::env::current_exe()
        .map_err(|error| Fault::internal("The program does not find its own file.", error))?;
    let script = script(&program, session, args.project.as_deref());
    let Some(path) = args.install else {
        session.output.text(&script);
        return Ok(Exit::Ok);
    };
    let hooks = blocking(move || install(Path::new(&path), &script, args.force)).await?;
    if session.output.json {
        let result = serde_json::to_value(Installed { hooks }).unwrap_or_default();
        session.output.line(&answer::json(&answer::succeeded(&session.app, result, None)).to_string());
        return Ok(Exit::Ok);
    }
    let mut shown = String::new();
    for hook in hooks {
        let _ = writeln!(
            shown,
            "{} {} {}",
            styled(GOOD, "✓"),
            styled(BOLD, "written"),
            styled(PATH, &hook.display().to_string())
        );
    }
    session.output.text(&shown);
    Ok(Exit::Ok)
}

/// One script for all hooks. It asks nothing of git's environment, which is that of the command that runs the hook.
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
         # Git does not wait for it, and its failure fails nothing; `pairofcleats index` shows what is wrong.\n\
         top=$(git rev-parse --show-toplevel) || exit 0\n\
         (\n  unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE\n  exec {command}\n) </dev/null >/dev/null 2>&1 &\nexit 0\n"
    )
}

/// A word of the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Writes the hooks, or none of them where one is somebody else's.
fn install(repository: &Path, script: &str, force: bool) -> Result<Vec<PathBuf>, Fault> {
    let folder = hooks_folder(repository)?;
    let unwritable =
        |error| Fault::internal(format!("The hooks in {} cannot be written.", folder.display()), error);
    let hooks: Vec<PathBuf> = HOOKS.iter().map(|name| folder.join(name)).collect();
    let foreign: Vec<&PathBuf> = hooks.iter().filter(|hook| is_foreign(hook)).collect();
    if let (Some(first), false) = (foreign.first(), force) {
        return Err(Fault::new(
            ErrorCode::IllegalState,
            format!("{} is somebody else's hook; nothing was written.", first.display()),
        )
        .with_hint("Add the lines that `pairofcleats hook` prints to it, or replace it with --force."));
    }
    std::fs::create_dir_all(&folder).map_err(unwritable)?;
    for hook in foreign {
        std::fs::rename(hook, hook.with_extension(KEPT_AS)).map_err(unwritable)?;
    }
    for hook in &hooks {
        let aside = hook.with_extension("unfinished");
        // A new file: what stands there by that name, a link perhaps, is not written into.
        let _ = std::fs::remove_file(&aside);
        std::fs::File::create_new(&aside)
            .and_then(|mut file| file.write_all(script.as_bytes()))
            .and_then(|()| std::fs::set_permissions(&aside, std::fs::Permissions::from_mode(0o755)))
            .and_then(|()| std::fs::rename(&aside, hook))
            .map_err(unwritable)?;
    }
    Ok(hooks)
}

fn is_foreign(hook: &Path) -> bool {
    let mut text = Vec::new();
    let read = beneath::open_named(hook).and_then(|file| file.take(HOOK_BYTES_MAX).read_to_end(&mut text));
    match read {
        Ok(_) => !String::from_utf8_lossy(&text).contains(MARK),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound || hook.symlink_metadata().is_ok(),
    }
}

/// Where git looks for hooks: `core.hooksPath`, linked work trees and submodules are git's to know.
fn hooks_folder(repository: &Path) -> Result<PathBuf, Fault> {
    let mut git = Program::new("git").arg("-C").arg(repository);
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        git = git.env_remove(variable);
    }
    let output =
        git.args(["rev-parse", "--path-format=absolute", "--git-path", "hooks"]).run(GIT_LIMIT, &|| false)?;
    let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !output.status.success() || path.is_empty() {
        return Err(Fault::new(ErrorCode::NotFound, "There is no git repository.").with_hint(
            "Name a folder of a git work tree; `git rev-parse` says what is wrong with this one.",
        ));
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
