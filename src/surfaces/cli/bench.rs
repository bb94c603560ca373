//! `bench`: measures quality and speed, in a home of its own.

use std::path::PathBuf;

use serde::Serialize;

use super::install::install;
use super::session::{Exit, Ran, Session};
use crate::bench::{Lab, Variant, issues, quality, scale};
use crate::config::Config;
use crate::contract::{Fault, visible_line};
use crate::surfaces::answer;

mod tables;

/// Arguments of `bench`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Short questions with known answers: NDCG@10 and token recall
    Quality(Asked),
    /// Issue texts and the files of their fixes: Acc@1, @5, @10
    Issues(Asked),
    /// What size costs: one project of many chunks, and many projects
    Scale(Grown),
}

/// Arguments of `scale`.
#[derive(Debug, clap::Args)]
struct Grown {
    /// Folder of real files that growth is made of; they are only read
    folder: PathBuf,
    /// Sizes of one project
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "10000,100000,1000000")]
    chunks: Vec<usize>,
    /// Numbers of projects
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,10,100,1000")]
    projects: Vec<usize>,
    /// Questions at each size
    #[arg(long, value_name = "N", default_value_t = 200)]
    questions: usize,
    /// Of these, questions whose answers are compared with the exact ones
    #[arg(long, value_name = "N", default_value_t = 100)]
    recalled: usize,
}

impl From<Grown> for scale::Options {
    fn from(grown: Grown) -> Self {
        let sizes = |mut sizes: Vec<usize>| {
            sizes.retain(|size| *size > 0);
            sizes.sort_unstable();
            sizes
        };
        Self {
            folder: grown.folder,
            chunks: sizes(grown.chunks),
            projects: sizes(grown.projects),
            questions: grown.questions,
            recalled: grown.recalled,
        }
    }
}

/// What both kinds of questions take.
#[derive(Debug, clap::Args)]
struct Asked {
    /// Folder of the questions
    #[arg(long, value_name = "DIR")]
    questions: PathBuf,
    /// Folder of checkouts; they are only read
    #[arg(long, value_name = "DIR")]
    corpus: PathBuf,
    /// Only the repository of this name, or issues whose id contains it
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Ask also with another ranking, as name:field=value,field=value; `vectors=off` leaves them out
    #[arg(long, value_name = "VARIANT")]
    variant: Vec<String>,
    /// Ask also without each signal of the ranking, one after the other
    #[arg(long)]
    ablation: bool,
    /// Vectors: shipped; none, path or path-name (as much of the header); stub (word hashes); static:DIR; mixed:DIR
    #[arg(long, value_name = "VECTORS", default_value = "shipped")]
    vectors: String,
    /// Tell each question
    #[arg(long)]
    details: bool,
}

impl Asked {
    fn variants(&self) -> Result<Vec<Variant>, Fault> {
        let mut variants = vec![Variant::shipped(), Variant::words()];
        for text in &self.variant {
            variants.push(Variant::parse(text)?);
        }
        if self.ablation {
            variants.extend(Variant::ablation()?);
        }
        Ok(variants)
    }
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: Args) -> Ran {
    // What is wrong with the arguments is said before anything is installed or indexed.
    match args.what {
        What::Quality(asked) => {
            let variants = asked.variants()?;
            let lab = lab(session).await?.remembering(&asked.vectors, program()?).await?;
            let Asked { questions, corpus, only, details, .. } = asked;
            let options = quality::Options { questions, corpus, only, variants, details };
            let report = quality::measure(&lab, &options, &|line| tell(session, line)).await?;
            print(session, &report, tables::quality);
            lab.close().await;
        }
        What::Issues(asked) => {
            let variants = asked.variants()?;
            let lab = lab(session).await?.remembering(&asked.vectors, program()?).await?;
            let Asked { questions, corpus, only, details, .. } = asked;
            let options = issues::Options { questions, corpus, only, variants, details };
            let report = issues::measure(&lab, &options, &|line| tell(session, line)).await?;
            print(session, &report, tables::issues);
            lab.close().await;
        }
        What::Scale(grown) => {
            let lab = lab_with(session, scale::configured).await?;
            let report = scale::measure(lab, &grown.into(), program()?, &|line| tell(session, line)).await?;
            print(session, &report, tables::scale);
        }
    }
    Ok(Exit::Ok)
}

async fn lab(session: &Session) -> Result<Lab, Fault> {
    lab_with(session, |config| config).await
}

async fn lab_with(session: &Session, change: impl FnOnce(Config) -> Config) -> Result<Lab, Fault> {
    install(session, None, false).await?;
    Lab::open(change(session.app.config.clone()), &session.app.layout, program()?)
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
