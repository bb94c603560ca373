//! Shows long output in a pager, as git does: `$PAIROFCLEATS_PAGER`, else `$PAGER`, else `less`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use super::hyperlinks::without_links;
use platform::process::Program;

/// Options of `less` unless the user sets any: exit at once if everything fits (F), let colours pass (R), keep the text on the
/// screen (X).
const LESS_OPTIONS: &str = "FRX";
/// The first release of `less` that reliably lets links pass with `-R`.
const LESS_WITH_LINKS: u32 = 581;
/// Time limit for asking `less` for its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(1);
/// The exit status of `less -K` after Ctrl-C.
const INTERRUPTED: i32 = 2;
/// A shell reports a command that was ended by a signal with a status above this.
const ENDED_BY_SIGNAL: i32 = 128;
/// Columns from one tab stop to the next.
const TAB_COLUMNS: usize = 8;

/// The program that shows long output.
#[derive(Debug)]
pub(super) struct Pager {
    /// The command that the user set, for the shell; `None` for `less`.
    command: Option<String>,
    /// `$LESS`.
    less_options: Option<String>,
}

impl Pager {
    /// Reads the pager from the environment. `None` if the user disabled it, with an empty variable or `cat`.
    pub(super) fn from_environment(environment: &BTreeMap<String, String>) -> Option<Self> {
        let command = environment.get("PAIROFCLEATS_PAGER").or_else(|| environment.get("PAGER"));
        let command = command.map(|command| command.trim().to_owned());
        let is_none = command.as_deref().is_some_and(|command| matches!(command, "" | "cat"));
        let less_options = environment.get("LESS").cloned();
        (!is_none).then_some(Self { command, less_options })
    }

    /// Shows a text, and waits until the user quits. Returns `false` if the pager is missing or failed, so that the text has to
    /// be printed. Quitting before the end of the text is not a failure.
    pub(super) fn show(&self, text: &str, has_colours: bool) -> bool {
        let text = match has_colours {
            true if self.shows_links() => Cow::Borrowed(text),
            true => without_links(text),
            false => Cow::Owned(anstream::adapter::strip_str(text).to_string()),
        };
        let ended = self.program().input(text.into_owned()).run_in_foreground();
        if let Err(error) = &ended {
            tracing::debug!(%error, "the pager could not be started");
        }
        has_shown(ended)
    }

    fn program(&self) -> Program {
        let program = match &self.command {
            Some(command) => Program::new("sh").args(["-c", command]),
            None => Program::new("less").arg(format!("-{LESS_OPTIONS}")),
        };
        let program = match &self.less_options {
            None => program.env("LESS", LESS_OPTIONS),
            // Without -R it would print colour codes as text.
            Some(options) => program.env("LESS", format!("-R {options}")),
        };
        // As git sets it for the pager `lv`: let colours pass.
        program.env("LV", "-c")
    }

    /// Returns `true` if links pass. Old releases of `less` print their addresses into the text, and the behaviour of other
    /// pagers is unknown.
    fn shows_links(&self) -> bool {
        let word = self.command.as_deref().unwrap_or("less").split_whitespace().next().unwrap_or_default();
        if word.rsplit('/').next() != Some("less") {
            return false;
        }
        let asked = Program::new(word).arg("--version").run(VERSION_TIMEOUT, &|| false);
        asked.is_ok_and(|output| {
            less_version(&String::from_utf8_lossy(&output.stdout)) >= Some(LESS_WITH_LINKS)
        })
    }
}

/// Checks whether a pager that ended with this status has shown its text.
fn has_shown(ended: io::Result<ExitStatus>) -> bool {
    match ended.map(|status| status.code()) {
        Ok(Some(code)) => code == 0 || code == INTERRUPTED || code > ENDED_BY_SIGNAL,
        Ok(None) => true,
        Err(_) => false,
    }
}

/// Parses the number in `less 590 (GNU regular expressions)`.
fn less_version(text: &str) -> Option<u32> {
    let number = text.strip_prefix("less ")?;
    number.split(|char: char| !char.is_ascii_digit()).next()?.parse().ok()
}

/// Checks whether a text fits the terminal on stdout together with the prompt that follows; if the size is unknown, any text does.
pub(super) fn fits_screen(text: &str) -> bool {
    let Ok(size) = rustix::termios::tcgetwinsize(io::stdout()) else { return true };
    let (rows, columns) = (usize::from(size.ws_row), usize::from(size.ws_col));
    rows == 0 || columns == 0 || rows_of(text, columns) < rows
}

/// Counts the rows of a text that is wrapped at the last column.
fn rows_of(text: &str, columns: usize) -> usize {
    let plain = anstream::adapter::strip_str(text).to_string();
    plain.lines().map(|line| width(line).div_ceil(columns).max(1)).sum()
}

/// Returns the width of a line, as if each character had one column.
fn width(line: &str) -> usize {
    line.chars().fold(0, |column, char| match char {
        '\t' => (column / TAB_COLUMNS + 1) * TAB_COLUMNS,
        _ => column + 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::hyperlinks::linked;

    fn pager(variables: &[(&str, &str)]) -> Option<Pager> {
        let environment = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Pager::from_environment(&environment.collect())
    }

    #[test]
    fn our_own_variable_comes_first_and_an_empty_one_means_none() {
        let command = |variables: &[(&str, &str)]| pager(variables).map(|pager| pager.command);
        assert_eq!(command(&[]), Some(None), "less");
        assert_eq!(command(&[("PAGER", "more -s")]), Some(Some("more -s".into())));
        assert_eq!(command(&[("PAIROFCLEATS_PAGER", "most"), ("PAGER", "more")]), Some(Some("most".into())));
        for none in ["", " ", "cat"] {
            assert_eq!(command(&[("PAIROFCLEATS_PAGER", none), ("PAGER", "more")]), None, "{none:?}");
        }
    }

    #[test]
    fn a_pager_that_fails_has_shown_nothing_and_one_that_is_left_has() {
        let show =
            |command: &str| pager(&[("PAGER", command)]).unwrap().show(&"line\n".repeat(100_000), true);
        for failing in ["false", "no-such-pager-here 2>/dev/null", "exit 3"] {
            assert!(!show(failing), "{failing}");
        }
        for left in ["true", "read -r line", "cat >/dev/null", "exit 2", "kill -s INT $$"] {
            assert!(show(left), "{left}");
        }
    }

    #[test]
    fn a_pager_gets_only_what_it_can_show() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("shown");
        let text = format!("\u{1b}[1m{}\u{1b}[0m\n", linked("file:///a", "a"));
        let shown = |has_colours| {
            let command = format!("{{ echo $LESS; cat; }} > {}", file.display());
            assert!(pager(&[("PAGER", &command), ("LESS", "i")]).unwrap().show(&text, has_colours));
            std::fs::read_to_string(&file).unwrap()
        };
        assert_eq!(shown(true), "-R i\n\u{1b}[1ma\u{1b}[0m\n");
        assert_eq!(shown(false), "-R i\na\n");
    }

    #[test]
    fn versions_of_less_are_read() {
        assert_eq!(less_version("less 590 (GNU regular expressions)\n"), Some(590));
        assert_eq!(less_version("less 581.2 (POSIX regular expressions)"), Some(581));
        assert_eq!(less_version("BusyBox v1.36"), None);
    }

    #[test]
    fn rows_are_those_of_the_screen() {
        assert_eq!(rows_of("a\n\nb\n", 10), 3);
        assert_eq!(rows_of("\u{1b}[31m1234567890\u{1b}[0m\n12345678901\n", 10), 3);
        assert_eq!(rows_of("\t\ta\n", 16), 2);
        assert_eq!(rows_of(&linked("file:///long/long/long", "1234"), 4), 1, "addresses are not shown");
    }
}
