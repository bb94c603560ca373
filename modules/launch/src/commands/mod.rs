//! `launch`: documentation that is checked against an indexed repository.

mod check;
mod check_text;
mod command_checks;
mod forges;
mod freshness_text;
mod run_text;
mod runs;
mod site_checks;

use contract::config::{Config, LaunchSite, SiteLocation};
use gate::app::App;
use surfaces::cli::shell::{CommandResult, DoctorCheck, Session, command, parsed};
use surfaces::module::ModuleCommand;

/// The command.
pub(crate) const COMMAND: ModuleCommand = ModuleCommand {
    command: || {
        command::<LaunchArgs>(
            "launch",
            "Documentation that is proved against an indexed repository: check a site, or have pages written",
        )
    },
    run: |session, matches| Box::pin(async move { run_launch(session, parsed(matches)?).await }),
    after: "instructions",
};

/// The checks of `doctor`: sites, tokens of forges, and the protections for the commands of sites.
pub(crate) async fn doctor_checks(app: &App) -> Vec<DoctorCheck> {
    let mut checks = site_checks::check_launch(app).await;
    checks.extend(command_checks::check_commands(app));
    checks
}

/// Returns `true` if a site is mirrored from its address.
pub(crate) fn fetches_repositories(config: &Config) -> bool {
    let is_mirrored = |site: &LaunchSite| matches!(site.location(), SiteLocation::Address(_));
    config.launch.enabled && config.launch.sites.iter().any(is_mirrored)
}

/// Arguments of `launch`.
#[derive(Debug, clap::Args)]
struct LaunchArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Check a documentation site: dead links, stale examples and names, leaked secrets; exits with 1 if a gate fails
    Check(check::CheckArgs),
    /// Start a run that writes pages for a documentation site, and continue it until people decide
    Start(runs::StartArgs),
    /// Show how far a run is
    Status(runs::RunArgs),
    /// Print each state of a run until nobody advances it
    Watch(runs::RunArgs),
    /// List runs, the newest first
    List(runs::ListArgs),
    /// Print an artifact of a run, or write it to a file
    Artifact(runs::ArtifactArgs),
    /// Check the pages of a run; exits with 1 if a gate fails
    Validate(runs::RunArgs),
    /// Fix the next issue of a run, and check its pages again
    Fix(runs::RunArgs),
    /// Continue a run to its next boundary
    Resume(runs::RunArgs),
    /// End a run for good
    Cancel(runs::RunArgs),
    /// Publish the pages of a run: as a branch of the site, or as a pull request on its forge
    Pr(runs::RunArgs),
    /// Check the forges of the configuration: do they answer, take their tokens, and let them publish; exits with 1 if one does not
    Forges,
}

/// Entry point of `launch`.
async fn run_launch(session: &Session, args: LaunchArgs) -> CommandResult {
    match args.action {
        Action::Check(args) => check::run_check(session, args).await,
        Action::Start(args) => runs::start(session, args).await,
        Action::Status(args) => runs::status(session, &args).await,
        Action::Watch(args) => runs::watch(session, &args).await,
        Action::List(args) => runs::list(session, &args).await,
        Action::Artifact(args) => runs::artifact(session, &args).await,
        Action::Validate(args) => runs::change(session, "launch_validate", &args, run_text::report).await,
        Action::Fix(args) => runs::change(session, "launch_fix_next", &args, run_text::report).await,
        Action::Resume(args) => runs::change(session, "launch_resume", &args, run_text::status).await,
        Action::Cancel(args) => runs::change(session, "launch_cancel", &args, run_text::cancelled).await,
        Action::Pr(args) => runs::change(session, "launch_open_pr", &args, run_text::published).await,
        Action::Forges => forges::check_forges(session).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    #[command(no_binary_name = true)]
    struct Line {
        #[command(flatten)]
        args: LaunchArgs,
    }

    #[test]
    fn the_grammar_knows_every_command() {
        for line in [
            "check docs --coverage",
            "start run.json --key a --no-wait --project p",
            "start -",
            "start https://github.com/acme/shop --site docs",
            "status r_1",
            "watch r_1 --project p",
            "list --product shop --state DONE --limit 200",
            "artifact r_1 page_plan.json --out plan.json",
            "validate r_1",
            "fix r_1",
            "resume r_1",
            "cancel r_1",
            "pr r_1",
            "forges",
        ] {
            let parsed = Line::try_parse_from(line.split(' '));
            assert!(parsed.is_ok(), "{line}: {parsed:?}");
        }
        for line in ["start", "status", "list --limit 0", "list --limit 201", "artifact r_1", "publish r_1"] {
            assert!(Line::try_parse_from(line.split(' ')).is_err(), "{line}");
        }
    }
}
