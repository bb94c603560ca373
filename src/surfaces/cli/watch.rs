//! `watch`: index a repository, and again whenever it changed, until Ctrl-C.

use std::sync::Mutex;
use std::sync::PoisonError;

use super::arguments::absolute;
use super::index::{self, BuildIndex};
use super::output::{BOLD, DIM, NOTE, PATH, styled};
use super::session::{Called, Exit, Ran, Session, StopSignal};
use crate::app::freshness::{Ended, News, follow};
use crate::surfaces::answer;
use contract::{ErrorCode, visible_line};
use tenancy::{self, AllowedRoots};

/// Arguments of `watch`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The repository
    #[arg(default_value = ".", value_parser = absolute)]
    path: String,
    /// Project to index into; created on first use
    #[arg(long, value_name = "ID")]
    project: Option<String>,
    /// Quiet time after a change before a run [default: freshness.debounce_ms, 1000]
    #[arg(long, value_name = "MS")]
    debounce: Option<u64>,
}

impl Args {
    /// The flags as settings.
    pub(super) fn settings(&self) -> Vec<(String, String)> {
        self.debounce.map(|ms| ("freshness.debounce_ms".to_owned(), ms.to_string())).into_iter().collect()
    }
}

/// Runs the command. It ends well on a signal, and badly when the first run shows that none can succeed.
pub(super) async fn run(session: &Session, args: &Args) -> Ran {
    let app = &session.app;
    let mut stop = StopSignal::install();
    let place = std::env::current_dir().ok();
    let standing = tenancy::Session { project: None, directory: place.as_deref() };
    let chosen = tenancy::resolve(args.project.as_deref(), standing)?;
    // Each run writes, and would be refused one by one.
    if let Some(file) = &chosen.file {
        tenancy::Trust::new(&app.layout).require(file)?;
    }
    let root = AllowedRoots::of_project(&app.config.indexing, &chosen.id).check(args.path.as_ref())?;
    let runs = Runs { session, args, state: Mutex::default() };
    let following = follow(app, &root, &app.shutdown, |news| tell(session, &news), || runs.once());
    tokio::pin!(following);
    let followed = tokio::select! {
        followed = &mut following => followed,
        () = stop.received() => {
            // The run that is under way hears the signal, too, and puts its work down.
            app.shutdown.cancel();
            following.await
        }
    };
    followed?;
    Ok(runs.state.lock().unwrap_or_else(PoisonError::into_inner).hopeless.unwrap_or(Exit::Ok))
}

/// The runs of one `watch`.
struct Runs<'a> {
    session: &'a Session,
    args: &'a Args,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    count: u64,
    /// No run can succeed.
    hopeless: Option<Exit>,
}

impl Runs<'_> {
    async fn once(&self) -> Ended {
        let first = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.count += 1;
            state.count == 1
        };
        let arguments = BuildIndex {
            repo_path: &self.args.path,
            project_id: self.args.project.as_deref(),
            ..BuildIndex::default()
        };
        let called = if first {
            index::build(self.session, &arguments).await
        } else {
            index::build_quietly(self.session, &arguments).await
        };
        self.show(&called);
        let Some(error) = &called.envelope.error else {
            return if index::joined(&called) { Ended::Joined } else { Ended::Done };
        };
        if self.session.app.shutdown.is_cancelled() {
            return Ended::Stop;
        }
        let hopeless = matches!(error.code, ErrorCode::ValidationError | ErrorCode::Forbidden);
        if first && (hopeless || called.exit == Exit::NotRun) {
            self.state.lock().unwrap_or_else(PoisonError::into_inner).hopeless = Some(called.exit);
            return Ended::Stop;
        }
        Ended::of(error.code, error.retryable)
    }

    /// A line a run: on stderr for people, its envelope on stdout for programs.
    fn show(&self, called: &Called) {
        let output = self.session.output;
        if output.json {
            output.line(&answer::json(&called.envelope).to_string());
        } else if let Some(result) = &called.envelope.result {
            output.note(index::render(result).trim_end());
        } else {
            output.failure(&called.envelope);
        }
    }
}

fn tell(session: &Session, news: &News) {
    let line = match news {
        News::Watching(1) => format!("{} 1 directory; stop: Ctrl-C", styled(BOLD, "Watching")),
        News::Watching(directories) => {
            format!("{} {directories} directories; stop: Ctrl-C", styled(BOLD, "Watching"))
        }
        News::Polling(why, every) => format!(
            "{} every {} s, because {}",
            styled(NOTE, "Looking at the tree"),
            every.as_secs_f64(),
            visible_line(why)
        ),
        News::Gone(why, every) => format!(
            "{} {} {}",
            styled(NOTE, "The repository cannot be read:"),
            visible_line(why),
            styled(DIM, &format!("(looked for every {} s)", every.as_secs_f64()))
        ),
        News::Back => styled(PATH, "The repository is back."),
    };
    session.output.note(&line);
}
