//! Progress on a terminal: a bar with what is being done, the counts, the rate and the time left.
//!
//! Where stderr is no terminal, each new phase is a line, and every few seconds there is another one that says how far it is.

use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressStyle};

use super::output::Output;
use crate::tools::{Progress, ProgressUpdate};
use contract::config;
use contract::visible_line;
use engine::jobs::{Phase, Progress as Counts};

/// A bar for one call; cheap to clone.
#[derive(Clone)]
pub(super) struct Bar {
    bar: ProgressBar,
    shown: Arc<Mutex<Shown>>,
    output: Output,
    terminal: bool,
    /// Ends the lines when it is dropped.
    lines: Arc<Mutex<Option<Sender<()>>>>,
}

/// What the bar measures now.
#[derive(Debug)]
struct Shown {
    phase: String,
    unit: &'static str,
    words_ready: bool,
    /// When the call began.
    began: Instant,
    /// When the measure began, and where.
    since: (Instant, u64),
    /// What there is to say.
    line: String,
}

/// Position and end of the bar, in `unit`s.
#[derive(Debug, PartialEq)]
struct Measure {
    unit: &'static str,
    done: u64,
    total: Option<u64>,
}

/// Between lines, where there is no terminal: at first, and after hours. In between it is a tenth of the time that has passed.
const LINE_EVERY: [Duration; 2] = [Duration::from_secs(3), Duration::from_secs(30)];

impl Bar {
    /// A bar that shows nothing yet, and nothing at all if the user wants quiet.
    pub(super) fn new(output: Output) -> Self {
        // A bar moves the cursor, which a dumb terminal does not.
        let terminal = std::io::stderr().is_terminal() && !config::is_dumb_terminal() && !output.quiet;
        let bar = if terminal { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        bar.set_style(style(false));
        if terminal {
            bar.set_message("starting");
            bar.enable_steady_tick(Duration::from_millis(120));
        }
        let shown = Arc::new(Mutex::new(Shown::new()));
        let lines = (!terminal && !output.quiet).then(|| say_lines(output, Arc::clone(&shown)));
        Self { bar, shown, output, terminal, lines: Arc::new(Mutex::new(lines)) }
    }

    /// Where a call's progress goes to be shown here.
    pub(super) fn progress(&self) -> Progress {
        let bar = self.clone();
        Progress::to(move |update| bar.update(&update))
    }

    /// Begins a named step, whose size may become known.
    pub(super) fn step(&self, what: &str) {
        self.show(what, &Measure { unit: "", done: 0, total: None }, false, |_| what.to_owned());
        self.bar.set_message(what.to_owned());
    }

    /// Shows how far the step is, in bytes.
    pub(super) fn bytes(&self, done: u64, total: Option<u64>) {
        let step = self.shown().phase.clone();
        let counted = match total {
            Some(total) => format!("{} of {}", HumanBytes(done), HumanBytes(total)),
            None => HumanBytes(done).to_string(),
        };
        let said = format!("{step}  {counted}");
        self.show(&step, &Measure { unit: "bytes", done, total }, false, |left| format!("{said}{left}"));
        self.bar.set_message(said);
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).take();
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
        let words_ready = counts.as_ref().is_some_and(|counts| counts.words_ready);
        let message = visible_line(&update.message);
        let line = |left: String| match &counts {
            Some(counts) => line(counts, &left).unwrap_or_else(|| message.clone()),
            None => format!("{message}{left}"),
        };
        self.show(update.phase, &measure, words_ready, line);
        let counted = counts.as_ref().map(words).unwrap_or_default();
        let said = if counted.is_empty() { message.clone() } else { counted };
        self.bar.set_message(format!("{:<8} {said}{}", update.phase, self.pace(measure.unit)));
    }

    /// Moves the bar; a new phase or unit starts its clock anew, so that rate and time left are its own. `line` makes the line
    /// of it, given the time left.
    fn show(&self, phase: &str, measure: &Measure, words_ready: bool, line: impl FnOnce(String) -> String) {
        let now = Instant::now();
        let mut shown = self.shown();
        let is_new = shown.phase != phase || shown.words_ready != words_ready;
        if shown.phase != phase || shown.unit != measure.unit {
            (shown.phase, shown.unit, shown.since) = (phase.to_owned(), measure.unit, (now, measure.done));
            self.bar.set_style(style(measure.total.is_some()));
            self.bar.reset();
        }
        shown.words_ready = words_ready;
        let left = seconds_left(now - shown.since.0, measure.done.saturating_sub(shown.since.1), measure);
        shown.line = line(
            left.map(|seconds| format!(", about {} left", seconds_in_words(seconds))).unwrap_or_default(),
        );
        if is_new && !self.terminal {
            self.output.note(&shown.timed());
        }
        if let Some(total) = measure.total {
            self.bar.set_length(total);
        }
        self.bar.set_position(measure.done);
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
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

impl Shown {
    fn new() -> Self {
        let now = Instant::now();
        let (phase, line) = (String::new(), String::new());
        Self { phase, unit: "", words_ready: false, began: now, since: (now, 0), line }
    }

    /// The line, after the seconds since the call began.
    fn timed(&self) -> String {
        format!("{:>4} s  {}", self.began.elapsed().as_secs(), self.line)
    }
}

/// Prints the present line every few seconds until the sender is dropped, so that a log shows that work goes on, also where
/// it has nothing new to tell.
fn say_lines(output: Output, shown: Arc<Mutex<Shown>>) -> Sender<()> {
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || {
        let began = Instant::now();
        let [shortest, longest] = LINE_EVERY;
        while let Err(RecvTimeoutError::Timeout) =
            ended.recv_timeout((began.elapsed() / 10).clamp(shortest, longest))
        {
            let shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
            if !shown.line.is_empty() {
                output.note(&shown.timed());
            }
        }
    });
    sender
}

/// Seconds until the end at the pace since the measure began; none before a second has passed.
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

/// A time as people say it: `40 s`, `3 min`, `2 h`.
fn seconds_in_words(seconds: u64) -> String {
    match seconds {
        0..100 => format!("{seconds} s"),
        100..6000 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}

/// What a line says of an index job; none before it does anything.
fn line(counts: &Counts, left: &str) -> Option<String> {
    let files = |done: u64| {
        let total = counts.files_total.map(|total| format!("/{}", HumanCount(total))).unwrap_or_default();
        format!("files {}{total}, {} chunks{left}", HumanCount(done), HumanCount(counts.chunks))
    };
    let what = match counts.phase {
        Phase::Queued => counts.waits_for.as_ref()?.sentence(),
        Phase::Walk => return None,
        Phase::Files => files(counts.files_done),
        Phase::History => "reading the git history".to_owned(),
        Phase::Embed => vectors(counts),
        Phase::Finish => "finishing".to_owned(),
    };
    Some(if counts.words_ready && counts.phase != Phase::Queued {
        format!("searchable by words now; {what}")
    } else {
        what
    })
}

/// How far the vectors are: `vectors 12 % (200/1,651), about 40 s left`.
pub(super) fn vectors(counts: &Counts) -> String {
    let (done, total) = (counts.vectors_done, counts.vectors_total.unwrap_or(0));
    let percent = (done * 100).checked_div(total).unwrap_or(0);
    let left = counts.seconds_left.filter(|_| done < total);
    let left = left.map(|left| format!(", about {} left", seconds_in_words(left))).unwrap_or_default();
    format!("vectors {percent} % ({}/{}){left}", HumanCount(done), HumanCount(total))
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
        counts.words_ready.then(|| "searchable by words".to_owned()),
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
        assert_eq!(Measure::of_job(&counts), Some(Measure { unit: "files", done: 3, total: Some(10) }));
        counts.vectors_total = None;
        assert_eq!(words(&counts), "files 3/10 · chunks 1,200");
        (counts.files_done, counts.vectors_done, counts.vectors_total) = (10, 5, Some(1200));
        assert_eq!(Measure::of_job(&counts), Some(Measure { unit: "vectors", done: 5, total: Some(1200) }));
        assert_eq!(Measure::of_job(&Counts::default()), None);
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
            line(&counts, ", about 4 s left").as_deref(),
            Some("files 3/10, 1,200 chunks, about 4 s left")
        );
        (counts.phase, counts.words_ready) = (Phase::History, true);
        assert_eq!(line(&counts, "").as_deref(), Some("searchable by words now; reading the git history"));
        counts.phase = Phase::Embed;
        (counts.vectors_done, counts.vectors_total, counts.seconds_left) = (200, Some(1651), Some(40));
        let said = "searchable by words now; vectors 12 % (200/1,651), about 40 s left";
        assert_eq!(line(&counts, "").as_deref(), Some(said));
        assert_eq!(line(&Counts::default(), ""), None);
        let ahead = WaitsFor {
            job_id: "j".into(),
            repository: Some("gin".into()),
            phase: Phase::Embed,
            percent: Some(38),
        };
        let queued = Counts { waits_for: Some(ahead), ..Counts::default() };
        assert_eq!(line(&queued, "").as_deref(), Some("queued behind the embedding of gin (38 %)"));
        assert_eq!([99, 100, 6000].map(seconds_in_words), ["99 s", "2 min", "2 h"]);
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
