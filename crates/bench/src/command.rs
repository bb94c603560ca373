//! `bench`: measures quality and speed, with a data directory of its own below the installation's.

use std::path::PathBuf;

use crate::Experiment;
use contract::config::Config;
use contract::{Fault, escaped_line};
use surfaces::cli::shell::{CommandResult, Exit, Session, command, install_assets, parsed};
use surfaces::module::{Module, ModuleCommand};

mod code;
mod http;
mod navigation;
mod quality_table;
mod queries;
mod scale;
mod speed;

/// The benchmarks as a module of the program: they add a command, and nothing to the gate.
pub static MODULE: Module = Module { commands: &[COMMAND], ..Module::new(&GATE) };

static GATE: gate::module::Module = gate::module::Module { name: "bench", ..gate::module::Module::EMPTY };

const COMMAND: ModuleCommand = ModuleCommand {
    command: || command::<BenchArgs>("bench", "Measure quality and speed on repositories with known answers"),
    run: |session, matches| Box::pin(async move { run_bench(session, parsed(matches)?).await }),
    after: "health",
};

/// Arguments of `bench`.
#[derive(Debug, clap::Args)]
struct BenchArgs {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Debug, clap::Subcommand)]
enum Benchmark {
    /// Short queries with known answers: NDCG@10 and token recall
    Quality(queries::QualityArgs),
    /// Issue texts and the files that their fixes changed: Acc@1, @5, @10
    Issues(queries::QueryBenchArgs),
    /// Time, memory and disk space of one project, compared with the hardware limits
    Speed(speed::SpeedArgs),
    /// Edges between definitions, compared with a compiler's index or drawn by lot
    Navigation(navigation::NavigationArgs),
    /// Exact search and navigation at a size: time and bytes
    Code(code::CodeArgs),
    /// Cost of size: one project with many chunks, and many projects
    Scale(scale::ScaleArgs),
}

/// Entry point of `bench`.
async fn run_bench(session: &Session, args: BenchArgs) -> CommandResult {
    match args.benchmark {
        Benchmark::Quality(args) => return queries::run_quality(session, args).await,
        Benchmark::Issues(args) => return queries::run_issues(session, args).await,
        Benchmark::Speed(args) => speed::run_speed(session, args).await?,
        Benchmark::Navigation(args) => navigation::run_navigation(session, args)?,
        Benchmark::Code(args) => code::run_code(session, args).await?,
        Benchmark::Scale(args) => scale::run_scale(session, args).await?,
    }
    Ok(Exit::Ok)
}

/// Opens an experiment with the installation's settings, modified by `change`.
async fn open_experiment(session: &Session, change: impl FnOnce(&mut Config)) -> Result<Experiment, Fault> {
    install_assets(session, None, false).await?;
    let mut config = session.app.config.clone();
    change(&mut config);
    Experiment::open(config, &session.app.layout, current_program()?, session.modules.gate())
}

fn current_program() -> Result<PathBuf, Fault> {
    std::env::current_exe()
        .map_err(|error| Fault::internal("The path of the running program is unknown.", error))
}

fn note(session: &Session, line: &str) {
    session.output.print_note(&escaped_line(line));
}
