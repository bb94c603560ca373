//! `bench`: measures quality and speed, in a home of its own.

use std::path::PathBuf;

use serde::Serialize;

use super::install::install;
use super::session::{Exit, Ran, Session};
use crate::bench::Lab;
use crate::surfaces::answer;
use contract::config::Config;
use contract::{Fault, visible_line};

mod http;
mod questions;
mod scale;
mod speed;

/// Arguments of `bench`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Short questions with known answers: NDCG@10 and token recall
    Quality(questions::Args),
    /// Issue texts and the files of their fixes: Acc@1, @5, @10
    Issues(questions::Args),
    /// Times, memory and room of one project, with what set each limit
    Speed(speed::Args),
    /// What size costs: one project of many chunks, and many projects
    Scale(scale::Args),
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: Args) -> Ran {
    match args.what {
        What::Quality(args) => questions::quality(session, args).await?,
        What::Issues(args) => questions::issues(session, args).await?,
        What::Speed(args) => speed::run(session, args).await?,
        What::Scale(args) => scale::run(session, args).await?,
    }
    Ok(Exit::Ok)
}

/// A lab with the installation's settings after `change`.
async fn lab(session: &Session, change: impl FnOnce(&mut Config)) -> Result<Lab, Fault> {
    install(session, None, false).await?;
    let mut config = session.app.config.clone();
    change(&mut config);
    Lab::open(config, &session.app.layout, program()?)
}

fn program() -> Result<PathBuf, Fault> {
    std::env::current_exe().map_err(|error| Fault::internal("The program does not find its own file.", error))
}

fn tell(session: &Session, line: &str) {
    session.output.note(&visible_line(line));
}

fn print<T: Serialize>(session: &Session, report: &T, table: impl FnOnce(&T) -> String) {
    if session.output.json {
        let result = serde_json::to_value(report).unwrap_or_default();
        session.output.line(&answer::json(&answer::succeeded(&session.app, result, None)).to_string());
    } else {
        session.output.text(&table(report));
    }
}
