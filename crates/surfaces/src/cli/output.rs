//! Printing: answers on stdout, notes and failures on stderr, colour only on terminals.

use std::borrow::Cow;
use std::io;

use anstyle::{AnsiColor, Style};
use serde_json::Value;

use super::command_result::{Exit, ToolAnswer};
use super::flags::GlobalFlags;
use crate::answer::json as envelope_json;
use contract::clock::{Clock, SystemClock, iso_millis};
use contract::{Envelope, Fault, Meta};
use contract::{escaped, escaped_line};

/// Style of headings and names.
pub const BOLD: Style = Style::new().bold();
/// Style of secondary text.
pub const DIM: Style = Style::new().dimmed();
/// Style of paths.
pub const PATH: Style = AnsiColor::Cyan.on_default();
/// Style of success marks.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// Style of error marks.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// Style of query words in results, coloured as in grep.
pub(super) const MARK: Style = BAD;
/// Style of warnings and hints.
pub const NOTE: Style = AnsiColor::Yellow.on_default();

/// Wraps `text` in a style; anstream strips the codes if the stream is not a terminal.
#[must_use]
pub fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// The output format that the global flags select.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    /// Print JSON envelopes instead of text.
    pub json: bool,
    /// Suppress progress and notes.
    pub quiet: bool,
}

impl Output {
    /// Reads the global flags.
    pub(super) fn new(global: &GlobalFlags) -> Self {
        Self { json: global.json, quiet: global.quiet }
    }

    /// Prints a tool's answer: the envelope with `--json`, else the result as `render` formats it, or the failure.
    pub fn answer(self, answer: &ToolAnswer, render: impl FnOnce(&Value) -> String) -> Exit {
        self.answer_through(answer, render, |text| self.print_text(text))
    }

    /// Like [`Output::answer`], with `print` to print the text of a result.
    pub(super) fn answer_through(
        self,
        answer: &ToolAnswer,
        render: impl FnOnce(&Value) -> String,
        print: impl FnOnce(&str),
    ) -> Exit {
        let envelope = &answer.envelope;
        if self.json {
            self.print_line(&envelope_json(envelope).to_string());
        } else if let Some(result) = &envelope.result {
            print(&render(result));
            for warning in &envelope.meta.warnings {
                self.print_note(&format!("{} {}", styled(NOTE, "warning:"), escaped_line(&warning.message)));
            }
            if let Some(coverage) = &envelope.meta.coverage {
                self.print_note(&styled(DIM, &escaped_line(&coverage.sentence())));
            }
        } else {
            self.failure(envelope);
        }
        answer.exit
    }

    /// Prints a fault that did not come from a tool call.
    pub fn fault(self, fault: &Fault, exit: Exit) -> Exit {
        let mut envelope = Envelope::failure(fault, Meta::new(iso_millis(SystemClock.now())));
        // The output is read on this machine, so the hint may contain its paths.
        if let (Some(error), Some(hint)) = (&mut envelope.error, &fault.local_hint) {
            error.hint = Some(hint.clone());
        }
        if self.json {
            self.print_line(&envelope_json(&envelope).to_string());
        } else {
            self.failure(&envelope);
        }
        exit
    }

    /// Prints a failed envelope as text on stderr.
    pub fn failure(self, envelope: &Envelope) {
        let Some(error) = &envelope.error else { return };
        let mut shown = format!(
            "{} {} {}\n",
            styled(BAD, "error:"),
            escaped(&error.message),
            styled(DIM, error.code.as_str())
        );
        if let Some(hint) = &error.hint {
            shown.push_str(&format!("{} {}\n", styled(NOTE, " hint:"), escaped(hint)));
        }
        write_all(&mut anstream::stderr().lock(), &shown);
    }

    /// Prints text on stdout.
    pub fn print_text(self, text: &str) {
        write_all(&mut anstream::stdout().lock(), text);
    }

    /// Prints one line on stdout, which with `--json` is JSON.
    pub fn print_line(self, line: &str) {
        if self.json {
            self.print_text(&format!("{}\n", json_with_escaped_controls(line)));
        } else {
            self.print_text(&format!("{line}\n"));
        }
    }

    /// Prints one line on stderr, unless `--quiet` is set.
    pub fn print_note(self, line: &str) {
        if !self.quiet {
            write_all(&mut anstream::stderr().lock(), &format!("{line}\n"));
        }
    }
}

/// Formats JSON on one line, and escapes the control characters that JSON permits in strings but terminals obey: U+007F and
/// U+0080 to U+009F. They occur only in strings.
fn json_with_escaped_controls(json: &str) -> Cow<'_, str> {
    if !json.contains(char::is_control) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for char in json.chars() {
        if char.is_control() {
            escaped.push_str(&format!("\\u{:04x}", u32::from(char)));
        } else {
            escaped.push(char);
        }
    }
    Cow::Owned(escaped)
}

/// Ignores write errors: a reader that closed the pipe (`| head`) is not a failure of the command.
fn write_all(stream: &mut impl io::Write, text: &str) {
    if let Err(error) = stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) {
        tracing::debug!(%error, "output could not be written");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_no_control_characters() {
        let value = serde_json::json!({ "a\u{9b}": "\u{7f}\u{80}\u{9f}\u{1b}\n\u{a0}ü👍" });
        let line = value.to_string();
        let printed = json_with_escaped_controls(&line);
        assert_eq!(printed, "{\"a\\u009b\":\"\\u007f\\u0080\\u009f\\u001b\\n\u{a0}ü👍\"}");
        assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), value);
        assert!(matches!(json_with_escaped_controls("{\"a\":\"ü\"}"), Cow::Borrowed(_)));
    }
}
