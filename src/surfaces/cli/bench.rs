//! `bench`: measures quality and speed, in a home of its own.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;

use super::install::install;
use super::session::{Exit, Ran, Session};
use crate::bench::{Lab, Variant, issues, quality, speed};
use crate::contract::{Fault, visible_line};
use crate::embedding::StubEmbedder;
use crate::surfaces::answer;

mod http;
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
    /// Times, memory and room of one project, with what set each limit
    Speed(Clocked),
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
    /// Tell each question
    #[arg(long)]
    details: bool,
}

/// What is clocked.
#[derive(Debug, clap::Args)]
struct Clocked {
    /// Folder of the files; it is only read
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Questions of each kind
    #[arg(long, value_name = "N", default_value_t = 200)]
    questions: usize,
    /// At most so many files, spread evenly over all
    #[arg(long, value_name = "N")]
    limit_files: Option<usize>,
    /// Edits of one file
    #[arg(long, value_name = "N", default_value_t = 9)]
    edits: usize,
    /// Vectors of word hashes: tells of everything but the model, without its time
    #[arg(long)]
    stub: bool,
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
    install(session, None, false).await?;
    let program = std::env::current_exe()
        .map_err(|error| Fault::internal("The program does not find its own file.", error))?;
    let mut config = session.app.config.clone();
    http::to_be_measured(&mut config);
    let lab = Lab::open(config, &session.app.layout, program.clone())?;
    let tell = |line: &str| session.output.note(&visible_line(line));
    match args.what {
        What::Quality(asked) => {
            let lab = lab.remembering(program).await?;
            let options = quality::Options {
                variants: asked.variants()?,
                questions: asked.questions,
                corpus: asked.corpus,
                only: asked.only,
                details: asked.details,
            };
            let report = quality::measure(&lab, &options, &tell).await?;
            print(session, &report, tables::quality);
            lab.close().await;
        }
        What::Issues(asked) => {
            let lab = lab.remembering(program).await?;
            let options = issues::Options {
                variants: asked.variants()?,
                questions: asked.questions,
                corpus: asked.corpus,
                only: asked.only,
                details: asked.details,
            };
            let report = issues::measure(&lab, &options, &tell).await?;
            print(session, &report, tables::issues);
            lab.close().await;
        }
        What::Speed(clocked) => {
            let lab = match clocked.stub {
                true => lab.with_embedder(Arc::new(StubEmbedder::default()), program),
                false => lab,
            };
            let options = speed::Options {
                folder: clocked.folder,
                questions: clocked.questions,
                files_max: clocked.limit_files,
                edits: clocked.edits,
            };
            let server = http::Server::start(&lab.app).await?;
            let report = speed::measure(&lab, &options, &*server.ask(), &tell).await?;
            print(session, &report, tables::speed);
            server.stop(&lab.app).await;
            lab.close().await;
        }
    }
    Ok(Exit::Ok)
}

fn print<T: Serialize>(session: &Session, report: &T, table: impl FnOnce(&T) -> String) {
    if session.output.json {
        let result = serde_json::to_value(report).unwrap_or_default();
        session.output.line(&answer::json(&answer::succeeded(&session.app, result, None)).to_string());
    } else {
        session.output.text(&table(report));
    }
}
