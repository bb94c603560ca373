//! Shows the progress of a call on stderr: on a terminal as a bar with the phase, the counts, the rate and the remaining time.
//!
//! If stderr is not a terminal, prints a line for each new phase and a progress line every few seconds.

use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressStyle};

use super::output::Output;
use contract::config;
use contract::escaped_line;
use engine::jobs::{Phase, Progress as Counts};
use gate::tools::{Progress, ProgressUpdate};

/// The progress display of one call; clones share it.
#[derive(Clone)]
pub struct CallProgressBar {
    bar: ProgressBar,
    state: Arc<Mutex<BarState>>,
    output: Output,
    terminal: bool,
    /// Dropping the sender stops the thread that prints lines.
    line_printer: Arc<Mutex<Option<Sender<()>>>>,
}

/// The displayed phase, unit and line.
#[derive(Debug)]
struct BarState {
    phase: String,
    unit: &'static str,
    /// `true` if the bar is shown with a total; `None` if its style has not been chosen yet.
    has_total: Option<bool>,
    words_ready: bool,
    /// The time when the call began.
    began: Instant,
    /// The time when this phase and unit began, and the position at that time.
    since: (Instant, u64),
    /// The current progress line, without its time stamp.
    line: String,
}

/// Position and length of the bar, in `unit`s.
#[derive(Debug, PartialEq)]
struct Measure {
    unit: &'static str,
    done: u64,
    total: Option<u64>,
}

/// Shortest and longest interval of progress lines without a terminal. In between, it is a tenth of the elapsed time, so that
/// logs of long calls stay short.
const LINE_INTERVAL: [Duration; 2] = [Duration::from_secs(3), Duration::from_secs(30)];

impl CallProgressBar {
    /// Creates an empty bar; with `--quiet` it never prints.
    #[must_use]
    pub fn new(output: Output) -> Self {
        // The bar moves the cursor, which a dumb terminal does not support.
        let terminal = std::io::stderr().is_terminal() && !config::is_dumb_terminal() && !output.quiet;
        let bar = if terminal { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        bar.set_style(bar_style(false));
        if terminal {
            bar.set_message("starting");
            bar.enable_steady_tick(Duration::from_millis(120));
        }
        let state = Arc::new(Mutex::new(BarState::new()));
        let line_printer =
            (!terminal && !output.quiet).then(|| spawn_line_printer(output, Arc::clone(&state)));
        Self { bar, state, output, terminal, line_printer: Arc::new(Mutex::new(line_printer)) }
    }

    /// Returns the progress receiver to pass to the call.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let bar = self.clone();
        Progress::to(move |update| bar.update(&update))
    }

    /// Begins a named step of unknown length.
    pub fn step(&self, name: &str) {
        self.show(name, &Measure { unit: "", done: 0, total: None }, false, |_| name.to_owned());
        self.bar.set_message(name.to_owned());
    }

    /// Updates the current step; the counts are bytes.
    pub(super) fn bytes(&self, done: u64, total: Option<u64>) {
        let step = self.lock_state().phase.clone();
        let counted = match total {
            Some(total) => format!("{} of {}", HumanBytes(done), HumanBytes(total)),
            None => HumanBytes(done).to_string(),
        };
        let message = format!("{step}  {counted}");
        self.show(&step, &Measure { unit: "bytes", done, total }, false, |left| format!("{message}{left}"));
        self.bar.set_message(message);
    }

    /// Removes the bar and stops the progress lines.
    pub fn finish(&self) {
        self.line_printer.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.bar.finish_and_clear();
    }

    /// Prints a permanent line above the bar.
    pub fn line(&self, line: &str) {
        if self.terminal {
            self.bar.suspend(|| self.output.print_note(line));
        } else {
            self.output.print_note(line);
        }
    }

    fn update(&self, update: &ProgressUpdate) {
        let counts = update.detail.as_ref().map(Counts::from_value);
        let measure =
            counts.as_ref().and_then(Measure::from_job).unwrap_or_else(|| Measure::from_update(update));
        let words_ready = counts.as_ref().is_some_and(|counts| counts.words_ready);
        let message = escaped_line(&update.message);
        let line = |left: String| match &counts {
            Some(counts) => job_line(counts, &left).unwrap_or_else(|| message.clone()),
            None => format!("{message}{left}"),
        };
        self.show(update.phase, &measure, words_ready, line);
        let counted = counts.as_ref().map(job_counts).unwrap_or_default();
        let text = if counted.is_empty() { message.clone() } else { counted };
        self.bar.set_message(format!("{:<8} {text}{}", update.phase, self.rate(measure.unit)));
    }

    /// Moves the bar. A new phase or unit restarts the clock, so that rate and time left do not include earlier phases. `line`
    /// formats the progress line from the text for the time left.
    fn show(&self, phase: &str, measure: &Measure, words_ready: bool, line: impl FnOnce(String) -> String) {
        let now = Instant::now();
        let mut state = self.lock_state();
        let is_new = state.phase != phase || state.words_ready != words_ready;
        if state.phase != phase || state.unit != measure.unit {
            (state.phase, state.unit, state.since) = (phase.to_owned(), measure.unit, (now, measure.done));
            self.bar.reset();
            state.has_total = None;
        }
        if state.has_total != Some(measure.total.is_some()) {
            state.has_total = Some(measure.total.is_some());
            self.bar.set_style(bar_style(measure.total.is_some()));
        }
        state.words_ready = words_ready;
        let left = seconds_left(now - state.since.0, measure.done.saturating_sub(state.since.1), measure);
        state.line =
            line(left.map(|seconds| format!(", about {} left", format_seconds(seconds))).unwrap_or_default());
        if is_new && !self.terminal {
            self.output.print_note(&state.timed_line());
        }
        if let Some(total) = measure.total {
            self.bar.set_length(total);
        }
        self.bar.set_position(measure.done);
    }

    fn lock_state(&self) -> MutexGuard<'_, BarState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Formats the rate and the remaining time; empty until both are known.
    fn rate(&self, unit: &str) -> String {
        let rate = self.bar.per_sec();
        let left = self.bar.eta();
        if rate < 0.5 || left.is_zero() {
            return String::new();
        }
        let rate = if unit.is_empty() { String::new() } else { format!(" · {rate:.0} {unit}/s") };
        format!("{rate} · {} left", HumanDuration(left))
    }
}

impl BarState {
    fn new() -> Self {
        let now = Instant::now();
        let (phase, line) = (String::new(), String::new());
        Self { phase, unit: "", has_total: None, words_ready: false, began: now, since: (now, 0), line }
    }

    /// Returns the progress line, prefixed by the seconds since the call began.
    fn timed_line(&self) -> String {
        format!("{:>4} s  {}", self.began.elapsed().as_secs(), self.line)
    }
}

/// Prints the current line every few seconds until the sender is dropped. It repeats an unchanged line, so that a log shows
/// that the call is still running.
fn spawn_line_printer(output: Output, state: Arc<Mutex<BarState>>) -> Sender<()> {
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || {
        let began = Instant::now();
        let [shortest, longest] = LINE_INTERVAL;
        while let Err(RecvTimeoutError::Timeout) =
            ended.recv_timeout((began.elapsed() / 10).clamp(shortest, longest))
        {
            let state = state.lock().unwrap_or_else(PoisonError::into_inner);
            if !state.line.is_empty() {
                output.print_note(&state.timed_line());
            }
        }
    });
    sender
}

/// Estimates the remaining seconds from the rate since the phase began; `None` within the first second.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "counts and seconds; a float cast saturates"
)]
fn seconds_left(elapsed: Duration, moved: u64, measure: &Measure) -> Option<u64> {
    let rest = measure.total?.checked_sub(measure.done).filter(|rest| *rest > 0)?;
    let known = moved > 0 && elapsed >= Duration::from_secs(1);
    known.then(|| (elapsed.as_secs_f64() * rest as f64 / moved as f64).ceil() as u64)
}

/// Formats a duration with one unit: `40 s`, `3 min`, `2 h`.
fn format_seconds(seconds: u64) -> String {
    match seconds {
        0..100 => format!("{seconds} s"),
        100..6000 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}

/// Formats the progress line of an index job; `None` before it reports anything.
fn job_line(counts: &Counts, left: &str) -> Option<String> {
    let files = |done: u64| {
        let total = counts.files_total.map(|total| format!("/{}", HumanCount(total))).unwrap_or_default();
        format!("files {}{total}, {} chunks{left}", HumanCount(done), HumanCount(counts.chunks))
    };
    let activity = match counts.phase {
        Phase::Queued => counts.waits_for.as_ref()?.reason(),
        Phase::Fetch => "fetching the repository".to_owned(),
        Phase::Walk => return None,
        Phase::Files => files(counts.files_done),
        Phase::History => "reading the git history".to_owned(),
        Phase::Embed => vector_progress(counts),
        Phase::Finish => "finishing".to_owned(),
    };
    Some(if counts.words_ready && counts.phase != Phase::Queued {
        format!("lexical search is ready; {activity}")
    } else {
        activity
    })
}

/// Formats the progress of the vectors: `vectors 12 % (200/1,651), about 40 s left`.
pub(super) fn vector_progress(counts: &Counts) -> String {
    let (done, total) = (counts.vectors_done, counts.vectors_total.unwrap_or(0));
    let percent = (done * 100).checked_div(total).unwrap_or(0);
    let left = counts.seconds_left.filter(|_| done < total);
    let left = left.map(|left| format!(", about {} left", format_seconds(left))).unwrap_or_default();
    format!("vectors {percent} % ({}/{}){left}", HumanCount(done), HumanCount(total))
}

impl Measure {
    /// Computes the progress of an index job: files until all are read, then vectors, which take most of the time.
    fn from_job(counts: &Counts) -> Option<Self> {
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
    fn from_update(update: &ProgressUpdate) -> Self {
        Self { unit: "", done: update.done as u64, total: update.total.map(|total| total as u64) }
    }
}

/// Formats the counts of an index job that are known so far.
fn job_counts(counts: &Counts) -> String {
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
        counts.words_ready.then(|| "lexical search ready".to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>()
    .join(" · ")
}

fn bar_style(with_end: bool) -> ProgressStyle {
    let template = if with_end { "{spinner} {bar:24.cyan} {percent:>3}% {msg}" } else { "{spinner} {msg}" };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::jobs::WaitsFor;
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
        assert_eq!(Measure::from_job(&counts), Some(Measure { unit: "files", done: 3, total: Some(10) }));
        counts.vectors_total = None;
        assert_eq!(job_counts(&counts), "files 3/10 · chunks 1,200");
        (counts.files_done, counts.vectors_done, counts.vectors_total) = (10, 5, Some(1200));
        assert_eq!(Measure::from_job(&counts), Some(Measure { unit: "vectors", done: 5, total: Some(1200) }));
        assert_eq!(Measure::from_job(&Counts::default()), None);
    }

    #[test]
    fn a_line_says_what_can_be_used_and_what_is_left() {
        let mut counts = Counts {
            phase: Phase::Files,
            files_done: 3,
            files_total: Some(10),
            chunks: 1200,
            ..Counts::default()
        };
        assert_eq!(
            job_line(&counts, ", about 4 s left").as_deref(),
            Some("files 3/10, 1,200 chunks, about 4 s left")
        );
        (counts.phase, counts.words_ready) = (Phase::History, true);
        assert_eq!(
            job_line(&counts, "").as_deref(),
            Some("lexical search is ready; reading the git history")
        );
        counts.phase = Phase::Embed;
        (counts.vectors_done, counts.vectors_total, counts.seconds_left) = (200, Some(1651), Some(40));
        let said = "lexical search is ready; vectors 12 % (200/1,651), about 40 s left";
        assert_eq!(job_line(&counts, "").as_deref(), Some(said));
        assert_eq!(job_line(&Counts::default(), ""), None);
        let ahead = WaitsFor {
            job_id: "j".into(),
            repository: Some("gin".into()),
            phase: Phase::Embed,
            percent: Some(38),
        };
        let queued = Counts { waits_for: Some(ahead), ..Counts::default() };
        assert_eq!(job_line(&queued, "").as_deref(), Some("queued behind the embedding of gin (38 %)"));
        assert_eq!([99, 100, 6000].map(format_seconds), ["99 s", "2 min", "2 h"]);
    }

    #[test]
    fn the_time_left_is_that_of_the_measure() {
        let measure = Measure { unit: "files", done: 30, total: Some(50) };
        let left = |seconds, moved| seconds_left(Duration::from_secs(seconds), moved, &measure);
        assert_eq!(left(5, 10), Some(10), "ten more took five seconds");
        assert_eq!((left(0, 10), left(5, 0)), (None, None), "no pace yet");
        let done = Measure { unit: "files", done: 50, total: Some(50) };
        assert_eq!(seconds_left(Duration::from_secs(5), 10, &done), None);
    }

    #[test]
    fn unknown_details_do_no_harm() {
        let bar = CallProgressBar::new(Output { json: false, quiet: true });
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
