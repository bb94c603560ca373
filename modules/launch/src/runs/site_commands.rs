//! Runs the commands of a site profile over a copy of the patched site. No file of a repository is started: the programs are those that the
//! operator installed, and they run confined.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use contract::config::{CheckCommand, LaunchSite};
use contract::{ErrorCode, Fault, echo_within};
use engine::indexing::redact;
use launch::observed::{CommandOutcome, CommandResult};
use launch::site::SiteFiles;
use platform::process::confined::{
    ConfinedCommand, ConfinedOutput, Ending, WRITTEN_BYTES_MAX, WRITTEN_ENTRIES_MAX,
};
use platform::process::executable_path;

use super::site_copy::{SiteCopy, copies_folder, remove_old};
use gate::app::App;

/// Lines of the output of a command that a report shows, the last ones.
const LINES_MAX: usize = 15;
/// Longest of these lines, in characters.
const LINE_CHARS_MAX: usize = 200;

/// The commands of a site, with the means to run them.
pub(super) struct SiteCommands {
    checks: Vec<CheckCommand>,
    require: Vec<String>,
    /// The executable of this program.
    program: PathBuf,
    /// The folder in which copies are made.
    copies: PathBuf,
    /// The name of the copy.
    name: String,
}

impl SiteCommands {
    /// The commands that check the site of a run.
    pub(super) fn new(app: &App, site: &LaunchSite, run_id: &str) -> Self {
        Self {
            checks: site.checks.clone(),
            require: app.config.launch.sandbox_require.clone(),
            program: executable_path(&app.program),
            copies: copies_folder(&app.layout),
            name: run_id.to_owned(),
        }
    }

    /// Runs all commands, one after another, over one copy: a later one sees what an earlier one wrote. Blocks; calls `cancelled` every
    /// 10 ms.
    ///
    /// # Errors
    /// `CANCELLED`, after all processes have ended; `INTERNAL` if this program cannot be started.
    pub(super) fn run(
        &self,
        files: &dyn SiteFiles,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Vec<CommandResult>, Fault> {
        if self.checks.is_empty() {
            return Ok(Vec::new());
        }
        remove_old(&self.copies);
        let outputs: Vec<&str> = self.outputs().collect();
        let copy = match SiteCopy::make(&self.copies, &self.name, files, &outputs) {
            Ok(copy) => copy,
            Err(error) => return Ok(self.not_run(&format!("The site could not be copied: {error}."))),
        };
        let run = |(check, number): (&CheckCommand, usize)| -> Result<CommandResult, Fault> {
            let outcome = self.run_one(check, number, &copy, cancelled)?;
            Ok(CommandResult { name: check.name.clone(), required: check.required, outcome })
        };
        self.checks.iter().zip(0..).map(run).collect()
    }

    /// The folders that commands fill, which are empty in the copy. A command with the output `.` gets the whole copy with its files.
    fn outputs(&self) -> impl Iterator<Item = &str> {
        self.checks.iter().filter_map(|check| check.output.as_deref()).filter(|output| *output != ".")
    }

    fn not_run(&self, why: &str) -> Vec<CommandResult> {
        let result = |check: &CheckCommand| CommandResult {
            name: check.name.clone(),
            required: check.required,
            outcome: CommandOutcome::NotRun(why.to_owned()),
        };
        self.checks.iter().map(result).collect()
    }

    fn run_one(
        &self,
        check: &CheckCommand,
        number: usize,
        copy: &SiteCopy,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<CommandOutcome, Fault> {
        let folders = || -> io::Result<_> {
            let output = check.output.as_deref().map(|output| copy.output(output)).transpose()?;
            Ok((copy.temporary(number)?, output))
        };
        let (temporary, output) = match folders() {
            Ok(folders) => folders,
            Err(error) => {
                return Ok(CommandOutcome::NotRun(format!("Its folders could not be made: {error}.")));
            }
        };
        let site = copy.site();
        let command = ConfinedCommand {
            argv: check.argv.clone(),
            folder: site.clone(),
            output,
            temporary: temporary.clone(),
            timeout: Duration::from_millis(check.timeout_ms),
            memory_bytes_max: check.memory_bytes_max,
            require: self.require.clone(),
        };
        match command.run(&self.program, cancelled) {
            Ok(finished) => {
                let folders = [(temporary, "$TMPDIR"), (site, ".")];
                let folders = folders.map(|(path, shown)| (path.to_string_lossy().into_owned(), shown));
                Ok(outcome(check, &finished, &folders))
            }
            Err(fault) if fault.code == ErrorCode::ToolchainMissing => {
                Ok(CommandOutcome::NotRun(format!("{}: {}", fault.code, fault.message)))
            }
            Err(fault) => Err(fault),
        }
    }
}

/// Converts the end of a command to its outcome. `folders` are shown by other names: they differ from one run to the next.
fn outcome(check: &CheckCommand, finished: &ConfinedOutput, folders: &[(String, &str)]) -> CommandOutcome {
    let missing = |why: String| CommandOutcome::NotRun(format!("{}: {why}", ErrorCode::ToolchainMissing));
    let how = match &finished.ending {
        Ending::Exited(0) => return CommandOutcome::Passed,
        Ending::NotStarted(why) => {
            let why = echo_within(why, LINE_CHARS_MAX);
            return missing(format!("it could not be started: {why}."));
        }
        Ending::Unprotected(names) => {
            let names = echo_within(&names.join(", "), LINE_CHARS_MAX);
            return missing(format!(
                "launch.sandbox_require demands protections that this system lacks: {names}."
            ));
        }
        Ending::Exited(status) => format!("ended with status {status}"),
        Ending::Signalled(signal) => format!("was ended by signal {signal}"),
        Ending::TimedOut => format!("was ended after {} ms", check.timeout_ms),
        Ending::WroteTooMuch => {
            format!("wrote more than {WRITTEN_BYTES_MAX} bytes or {WRITTEN_ENTRIES_MAX} files, and was ended")
        }
        Ending::Lost => "was ended by something outside".to_owned(),
    };
    let limit = finished.limit().map(|limit| format!("; it met the limit of {limit}")).unwrap_or_default();
    CommandOutcome::Failed { how: how + &limit, output: last_lines(&finished.output, folders) }
}

/// The last lines of an output, without secrets.
fn last_lines(output: &[u8], folders: &[(String, &str)]) -> String {
    let text = String::from_utf8_lossy(output);
    let mut text = redact(&text).text.into_owned();
    for (path, shown) in folders {
        text = text.replace(path, shown);
    }
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.iter().skip(lines.len().saturating_sub(LINES_MAX));
    last.map(|line| echo_within(line.trim_end(), LINE_CHARS_MAX)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check() -> CheckCommand {
        CheckCommand {
            name: "site_build".to_owned(),
            argv: vec!["hugo".to_owned()],
            required: true,
            output: None,
            timeout_ms: 2000,
            memory_bytes_max: 1 << 30,
        }
    }

    fn of(ending: Ending, text: &str) -> CommandOutcome {
        let finished = ConfinedOutput { ending, output: text.as_bytes().to_vec() };
        outcome(&check(), &finished, &[("/home/copies/r-0/site".to_owned(), ".")])
    }

    #[test]
    fn the_end_of_a_command_is_reported_with_its_limit() {
        assert_eq!(of(Ending::Exited(0), "warning"), CommandOutcome::Passed);
        let CommandOutcome::Failed { how, output } = of(Ending::Exited(1), "a\n\nMemoryError\n") else {
            panic!()
        };
        assert_eq!(how, "ended with status 1; it met the limit of memory");
        assert_eq!(output, "a\nMemoryError");
        let CommandOutcome::Failed { how, .. } = of(Ending::TimedOut, "") else { panic!() };
        assert_eq!(how, "was ended after 2000 ms; it met the limit of time");
        let missing = of(Ending::Unprotected(vec!["landlock".to_owned(), "limits".to_owned()]), "");
        let CommandOutcome::NotRun(why) = missing else { panic!("{missing:?}") };
        assert!(why.starts_with("TOOLCHAIN_MISSING: ") && why.contains("landlock, limits"), "{why}");
    }

    #[test]
    fn only_the_last_lines_are_reported_without_secrets_and_paths() {
        // Concatenated, so that secret scanners do not report this file.
        let token = ["ghp", "_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
        let mut text: String = (0..100).map(|line| format!("line {line}\n")).collect();
        text.push_str(&format!(
            "export GITHUB_TOKEN={token}\n\u{1b}[31m/home/copies/r-0/site/a.md: broken\n"
        ));
        let CommandOutcome::Failed { output, .. } = of(Ending::Exited(1), &text) else { panic!() };
        assert_eq!(output.lines().count(), LINES_MAX);
        assert!(!output.contains(&token) && !output.contains("/home/") && !output.contains('\u{1b}'));
        assert!(output.ends_with("./a.md: broken"), "{output}");
    }
}
