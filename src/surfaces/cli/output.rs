//! What is printed where: answers on stdout, notes and failures on stderr, colour only on terminals.

use std::io;

use anstyle::{AnsiColor, Style};
use serde_json::Value;

use super::arguments::Global;
use super::session::{Called, Exit};
use crate::surfaces::answer;
use contract::clock::{Clock, SystemClock, iso_millis};
use contract::{Envelope, Fault, Meta};
use contract::{visible, visible_line};

/// Headings and names.
pub(super) const BOLD: Style = Style::new().bold();
/// What matters less.
pub(super) const DIM: Style = Style::new().dimmed();
/// Paths.
pub(super) const PATH: Style = AnsiColor::Cyan.on_default();
/// Good.
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
/// Bad.
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();
/// To be noticed.
pub(super) const NOTE: Style = AnsiColor::Yellow.on_default();

/// `text` in a style; anstream removes the styling where it does not belong.
pub(super) fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// How the user wants to be answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Output {
    /// Envelopes instead of text.
    pub(super) json: bool,
    /// No progress, no notes.
    pub(super) quiet: bool,
}

impl Output {
    /// As the global flags say.
    pub(super) fn new(global: &Global) -> Self {
        Self { json: global.json, quiet: global.quiet }
    }

    /// Prints a tool's answer: the envelope, or what `render` makes of its result, or the failure.
    pub(super) fn answer(self, called: &Called, render: impl FnOnce(&Value) -> String) -> Exit {
        let envelope = &called.envelope;
        if self.json {
            self.line(&answer::json(envelope).to_string());
        } else if let Some(result) = &envelope.result {
            self.text(&render(result));
            for warning in &envelope.meta.warnings {
                self.note(&format!("{} {}", styled(NOTE, "warning:"), visible_line(&warning.message)));
            }
        } else {
            self.failure(envelope);
        }
        called.exit
    }

    /// Prints a failure that no tool answered.
    pub(super) fn fault(self, fault: &Fault, exit: Exit) -> Exit {
        let mut envelope = Envelope::failure(fault, Meta::at(iso_millis(SystemClock.now())));
        if let (Some(error), Some(hint)) = (&mut envelope.error, &fault.local_hint) {
            error.hint = Some(hint.clone());
        }
        if self.json {
            self.line(&answer::json(&envelope).to_string());
        } else {
            self.failure(&envelope);
        }
        exit
    }

    /// A failure for people, on stderr.
    pub(super) fn failure(self, envelope: &Envelope) {
        let Some(error) = &envelope.error else { return };
        let mut shown = format!(
            "{} {} {}\n",
            styled(BAD, "error:"),
            visible(&error.message),
            styled(DIM, error.code.as_str())
        );
        if let Some(hint) = &error.hint {
            shown.push_str(&format!("{} {}\n", styled(NOTE, " hint:"), visible(hint)));
        }
        write_all(&mut anstream::stderr().lock(), &shown);
    }

    /// Text on stdout.
    pub(super) fn text(self, text: &str) {
        write_all(&mut anstream::stdout().lock(), text);
    }

    /// One line on stdout.
    pub(super) fn line(self, line: &str) {
        self.text(&format!("{line}\n"));
    }

    /// One line on stderr, unless the user wants quiet.
    pub(super) fn note(self, line: &str) {
        if !self.quiet {
            write_all(&mut anstream::stderr().lock(), &format!("{line}\n"));
        }
    }
}

/// A reader that has gone (`| head`) is no failure of ours, and there is nobody left to tell.
fn write_all(stream: &mut impl io::Write, text: &str) {
    if let Err(error) = stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) {
        tracing::debug!(%error, "output could not be written");
    }
}
