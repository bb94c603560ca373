//! Progress on a terminal: a bar with what is being done, the counts, the rate and the time left.
//!
//! Where stderr is no terminal, each new phase is one line, so that a log shows that work goes on.

use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressStyle};

use super::output::Output;
use crate::contract::visible_line;
use crate::jobs::Progress as Counts;
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
        // A bar moves the cursor, which a dumb terminal does not.
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let terminal = std::io::stderr().is_terminal() && !dumb && !output.quiet;
        let bar = if terminal { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        bar.set_style(style(false));
        if terminal {
            bar.set_message("starting");
            bar.enable_steady_tick(Duration::from_millis(120));
        }
        Self { bar, shown: Arc::default(), output, terminal }
    }

    /// Where a call's progress goes to be shown here.
    pub(super) fn progress(&self) -> Progress {
        let bar = self.clone();
        Progress::to(move |update| bar.update(&update))
    }

    /// Begins a named step, whose size may become known.
    pub(super) fn step(&self, what: &str) {
        self.show(what, "", 0, None);
        self.bar.set_message(what.to_owned());
    }

    /// Shows how far the step is, in bytes.
    pub(super) fn bytes(&self, done: u64, total: Option<u64>) {
        let step = self.shown.lock().unwrap_or_else(PoisonError::into_inner).phase.clone();
        self.show(&step, "bytes", done, total);
        let counted = total.map(|total| format!("{} of {}", HumanBytes(done), HumanBytes(total)));
        self.bar.set_message(format!("{step}  {}", counted.unwrap_or_else(|| HumanBytes(done).to_string())));
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
        let counts = update.detail.as_ref().map(Counts::from_value);
        let measure = counts.as_ref().and_then(Measure::of_job).unwrap_or_else(|| Measure::of(update));
        self.show(update.phase, measure.unit, measure.done, measure.total);
        let counted = counts.as_ref().map(words).unwrap_or_default();
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

impl Measure {
    /// Vectors take the time, so they lead once all files are read; before that, files do.
    fn of_job(counts: &Counts) -> Option<Self> {
        let files = counts.files_total.filter(|total| *total > 0);
        let vectors = counts.vectors_total.filter(|total| *total > 0);
        let files_are_read = files.is_none_or(|total| counts.files_done >= total);
        match (vectors, files) {
            (Some(total), _) if files_are_read => {
                Some(Self { unit: "vectors", done: counts.vectors_done, total: Some(total) })
            }
            (_, Some(total)) => Some(Self { unit: "files", done: counts.files_done, total: Some(total) }),
            _ => None,
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts; a float cast saturates"
    )]
    fn of(update: &ProgressUpdate) -> Self {
        Self { unit: "steps", done: update.done as u64, total: update.total.map(|total| total as u64) }
    }
}

/// The counts of an index job that say something yet.
fn words(counts: &Counts) -> String {
    let part = |name: &str, done: u64, total: Option<u64>| {
        total
            .filter(|total| *total > 0)
            .map(|total| format!("{name} {}/{}", HumanCount(done), HumanCount(total)))
    };
    let chunks = (counts.chunks > 0).then(|| format!("chunks {}", HumanCount(counts.chunks)));
    [
        part("files", counts.files_done, counts.files_total),
        chunks,
        part("vectors", counts.vectors_done, counts.vectors_total),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>()
    .join(" · ")
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
        let mut counts = Counts {
            files_done: 3,
            files_total: Some(10),
            chunks: 1200,
            vectors_total: Some(9),
            ..Counts::default()
        };
        assert_eq!(Measure::of_job(&counts), Some(Measure { unit: "files", done: 3, total: Some(10) }));
        counts.vectors_total = None;
        assert_eq!(words(&counts), "files 3/10 · chunks 1,200");
        (counts.files_done, counts.vectors_done, counts.vectors_total) = (10, 5, Some(1200));
        assert_eq!(Measure::of_job(&counts), Some(Measure { unit: "vectors", done: 5, total: Some(1200) }));
        assert_eq!(Measure::of_job(&Counts::default()), None);
    }

    #[test]
    fn unknown_details_do_no_harm() {
        let bar = Bar::new(Output { json: false, quiet: true });
        for detail in
            [None, Some(json!({ "filesDone": "many" })), Some(json!({ "filesTotal": 4, "else": 1 }))]
        {
            let update =
                ProgressUpdate { phase: "walk", done: 1.0, total: None, message: "m".into(), detail };
            bar.update(&update);
        }
        assert_eq!(bar.bar.length(), Some(4));
    }
}
