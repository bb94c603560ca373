//! Progress on a terminal: a bar with what is being done, the counts, the rate and the time left.
//!
//! Where stderr is no terminal, each new phase is one line, so that a log shows that work goes on.

use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressStyle};
use serde::Deserialize;

use super::output::Output;
use super::text::visible_line;
use crate::tools::{Progress, ProgressUpdate};

/// A bar for one call; cheap to clone.
#[derive(Clone)]
pub(super) struct Bar {
    bar: ProgressBar,
    shown: Arc<Mutex<Shown>>,
    output: Output,
    terminal: bool,
}

/// What the bar measures now.
#[derive(Debug, Default)]
struct Shown {
    phase: String,
    unit: &'static str,
}

/// The counts of an index job, as `ProgressUpdate::detail` carries them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Deserialize)]
#[serde(default)]
struct Counts {
    files_done: u64,
    files_total: u64,
    chunks: u64,
    vectors_done: u64,
    vectors_total: u64,
}

/// Position and end of the bar, in `unit`s.
#[derive(Debug, PartialEq)]
struct Measure {
    unit: &'static str,
    done: u64,
    total: Option<u64>,
}

impl Bar {
    /// A bar that shows nothing yet, and nothing at all if the user wants quiet.
    pub(super) fn new(output: Output) -> Self {
        let terminal = std::io::stderr().is_terminal() && !output.quiet;
        let bar = if terminal { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        bar.set_style(style(false));
        if terminal {
            bar.enable_steady_tick(Duration::from_millis(120));
        }
        Self { bar, shown: Arc::default(), output, terminal }
    }

    /// Where a call's progress goes to be shown here.
    pub(super) fn progress(&self) -> Progress {
        let bar = self.clone();
        Progress::to(move |update| bar.update(&update))
    }

    /// Shows bytes of a named download or step.
    pub(super) fn bytes(&self, what: &str, done: u64, total: Option<u64>) {
        self.show(what, "bytes", done, total);
        self.bar.set_message(what.to_owned());
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Prints a line above the bar.
    pub(super) fn line(&self, line: &str) {
        if self.terminal {
            self.bar.suspend(|| self.output.note(line));
        } else {
            self.output.note(line);
        }
    }

    fn update(&self, update: &ProgressUpdate) {
        let counts = update.detail.as_ref().and_then(|detail| Counts::deserialize(detail).ok());
        let measure = counts.unwrap_or_default().measure().unwrap_or_else(|| Measure::of(update));
        self.show(update.phase, measure.unit, measure.done, measure.total);
        let counted = counts.map(Counts::words).unwrap_or_default();
        let said = if counted.is_empty() { visible_line(&update.message) } else { counted };
        self.bar.set_message(format!("{:<8} {said}{}", update.phase, self.pace(measure.unit)));
    }

    /// Moves the bar; a new phase or unit starts its clock anew, so that rate and time left are its own.
    fn show(&self, phase: &str, unit: &'static str, done: u64, total: Option<u64>) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.phase != phase && !self.terminal {
            self.output.note(&format!("{phase} …"));
        }
        if shown.phase != phase || shown.unit != unit {
            *shown = Shown { phase: phase.to_owned(), unit };
            self.bar.set_style(style(total.is_some()));
            self.bar.reset();
        }
        if let Some(total) = total {
            self.bar.set_length(total);
        }
        self.bar.set_position(done);
    }

    /// Rate and time left, once there is something to go by.
    fn pace(&self, unit: &str) -> String {
        let rate = self.bar.per_sec();
        let left = self.bar.eta();
        if rate < 0.5 || left.is_zero() {
            return String::new();
        }
        format!(" · {rate:.0} {unit}/s · {} left", HumanDuration(left))
    }
}

impl Counts {
    /// Vectors take the time, so they lead once there are any; before that, files do.
    fn measure(self) -> Option<Measure> {
        if self.vectors_total > 0 && self.files_done >= self.files_total {
            return Some(Measure {
                unit: "vectors",
                done: self.vectors_done,
                total: Some(self.vectors_total),
            });
        }
        (self.files_total > 0).then_some(Measure {
            unit: "files",
            done: self.files_done,
            total: Some(self.files_total),
        })
    }

    fn words(self) -> String {
        let part = |name: &str, done: u64, total: u64| {
            (total > 0).then(|| format!("{name} {}/{}", HumanCount(done), HumanCount(total)))
        };
        let chunks = (self.chunks > 0).then(|| format!("chunks {}", HumanCount(self.chunks)));
        [
            part("files", self.files_done, self.files_total),
            chunks,
            part("vectors", self.vectors_done, self.vectors_total),
        ]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" · ")
    }
}

impl Measure {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts; a float cast saturates"
    )]
    fn of(update: &ProgressUpdate) -> Self {
        Self { unit: "steps", done: update.done as u64, total: update.total.map(|total| total as u64) }
    }
}

fn style(with_end: bool) -> ProgressStyle {
    let template = if with_end { "{spinner} {bar:24.cyan} {percent:>3}% {msg}" } else { "{spinner} {msg}" };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn files_lead_until_vectors_do() {
        let mut counts = Counts { files_done: 3, files_total: 10, chunks: 1200, ..Counts::default() };
        assert_eq!(counts.measure(), Some(Measure { unit: "files", done: 3, total: Some(10) }));
        assert_eq!(counts.words(), "files 3/10 · chunks 1,200");
        (counts.files_done, counts.vectors_done, counts.vectors_total) = (10, 5, 1200);
        assert_eq!(counts.measure(), Some(Measure { unit: "vectors", done: 5, total: Some(1200) }));
        assert_eq!(Counts::default().measure(), None);
    }

    #[test]
    fn unknown_details_do_no_harm() {
        let bar = Bar::new(Output { json: false, quiet: true });
        for detail in
            [None, Some(json!({ "files_done": "many" })), Some(json!({ "files_total": 4, "else": 1 }))]
        {
            let update =
                ProgressUpdate { phase: "walk", done: 1.0, total: None, message: "m".into(), detail };
            bar.update(&update);
        }
        assert_eq!(bar.bar.length(), Some(4));
    }
}
