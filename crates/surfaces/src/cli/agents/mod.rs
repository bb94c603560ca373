//! `install` and `uninstall`: write the MCP server and its instructions into the coding agents on this machine, and remove them.
//!
//! `detect` finds the agents, `plan` computes the changes of each file, `apply` writes them. The rows of the client table name
//! the locations of an agent's files; `edit` and the files below it compute new text, and `files` alone touches the disk.

mod apply;
mod detect;
mod edit;
mod edit_json;
mod edit_record;
mod edit_toml;
mod edit_yaml;
mod files;
mod mask;
mod plan;
mod report;
mod sections;
mod text;

use std::path::Path;

use clap::builder::{PossibleValue, PossibleValuesParser};

use super::clients::{CLIENTS, Client, ClientSetup, DEFAULT_TOOLSETS, Transport};
use super::install::missing;
use super::mcp_config::{Installation, settings_not_passed_on};
use super::prompt;
use super::session::{CommandError, CommandResult, Exit, Session};
use apply::{Applied, apply};
use contract::{ErrorCode, Fault};
use detect::Machine;
use edit_record::EditRecord;
use gate::app::blocking;
use plan::{Change, Scope, Step, install_tasks, plan, uninstall_tasks};
use report::{Report, render_notes, render_plan, render_result};

/// Arguments of `install`.
#[derive(Debug, clap::Args)]
pub(super) struct InstallArgs {
    #[command(flatten)]
    shared: SharedArgs,
    /// Whose files to write
    #[arg(long, value_enum, default_value = "user")]
    scope: Scope,
    /// Replace an entry `pairofcleats` that this program did not write, or that was changed since; a backup is kept
    #[arg(long)]
    force: bool,
}

/// Arguments of `uninstall`.
#[derive(Debug, clap::Args)]
pub(super) struct UninstallArgs {
    #[command(flatten)]
    shared: SharedArgs,
    /// Whose files to clean [default: all that were written]
    #[arg(long, value_enum)]
    scope: Option<Scope>,
}

/// Arguments of both.
#[derive(Debug, Clone, clap::Args)]
struct SharedArgs {
    /// Agent; may be repeated [default: all that are found]
    #[arg(long = "agent", value_name = "NAME", value_parser = agent_names())]
    agents: Vec<String>,
    /// Print what would change, and change nothing
    #[arg(long, conflicts_with = "yes")]
    print: bool,
    /// Do not ask before writing
    #[arg(short, long)]
    yes: bool,
}

/// Entry point of `install`.
pub(super) async fn install_into_agents(session: &Session, args: InstallArgs) -> CommandResult {
    let machine = Machine::here()?;
    let agents = match args.shared.agents.is_empty() {
        true => machine.agents(),
        false => named_agents(&args.shared.agents),
    };
    if agents.is_empty() {
        let fault =
            Fault::new(ErrorCode::NotFound, "No agent was found on this machine.").with_hint(format!(
                "Name one with --agent to write its files anyway: {}.",
                agent_ids().collect::<Vec<_>>().join(", ")
            ));
        return Err(CommandError::not_run(fault));
    }
    let installation = Installation::new(session);
    let shared_program =
        Transport::Stdio { program: Path::new("pairofcleats"), arguments: &[], home: None, config: None };
    // Paths of this machine are useless to others who work on the repository.
    let transport = if args.scope == Scope::Project { shared_program } else { installation.transport() };
    let setup = ClientSetup { transport, project: None, toolsets: Some(DEFAULT_TOOLSETS), read_only: false };
    let tasks = install_tasks(&machine, &agents, args.scope, args.force, &|client| client.entry(&setup));
    let notes = notes(session, &installation, args.scope).await;
    run(session, machine, Report::new("install", &agents).with_notes(notes), tasks, &args.shared).await
}

/// Returns notes on what the agents still lack once their files are written, and on the command that they start.
async fn notes(session: &Session, installation: &Installation, scope: Scope) -> Vec<String> {
    let mut notes = Vec::new();
    if scope == Scope::User
        && let Some(reason) = installation.reason()
    {
        notes.push(format!("Of the start: {reason}."));
    }
    // A platform without prebuilt files is an error only of the commands that need them.
    let missing = missing(session, true).await.unwrap_or_default();
    if !missing.is_empty() {
        let titles: Vec<&str> = missing.iter().map(|asset| asset.title.as_str()).collect();
        let bytes: u64 = missing.iter().map(|asset| asset.bytes).sum();
        notes.push(format!(
            "Not installed yet: {} ({} MB to download). Run `{}` before you use the agents.",
            titles.join("; "),
            bytes.div_ceil(1_000_000),
            installation.command_line("bootstrap")
        ));
    }
    let settings = settings_not_passed_on(scope == Scope::User);
    if !settings.is_empty() {
        notes.push(format!(
            "Agents do not pass on {}, set in this environment: put what it says into config.toml in the data directory.",
            settings.join(", ")
        ));
    }
    notes
}

/// Entry point of `uninstall`.
pub(super) async fn uninstall_from_agents(session: &Session, args: UninstallArgs) -> CommandResult {
    let machine = Machine::here()?;
    let edit_record = EditRecord::read(&session.app.layout.agents())?;
    let agents = named_agents(&args.shared.agents);
    let project = args.scope.map(|scope| match scope {
        Scope::User => None,
        Scope::Project => Some(machine.project()),
    });
    let tasks = uninstall_tasks(&edit_record, &agents, project);
    drop(edit_record);
    run(session, machine, Report::new("uninstall", &agents), tasks, &args.shared).await
}

/// Plans the tasks, shows the plan, and carries it out once it is confirmed.
async fn run(
    session: &Session,
    machine: Machine,
    report: Report,
    tasks: Vec<plan::Task>,
    args: &SharedArgs,
) -> CommandResult {
    let folder = session.app.layout.agents();
    let print_only = args.print;
    let (edit_record, steps) = blocking(move || {
        let edit_record = if print_only { EditRecord::read(&folder)? } else { EditRecord::open(&folder)? };
        let steps: Vec<Step> = tasks.into_iter().map(|task| plan(task, &edit_record)).collect();
        Ok((edit_record, steps))
    })
    .await?;
    let writes = steps.iter().any(Step::writes);
    let planned = report.with_plan(&machine, &steps);
    if args.print {
        let text = format!("{}{}", render_plan(&planned), render_notes(&planned));
        let exit = session.print_result(&planned, &text);
        return Ok(if planned.is_refused() { Exit::Failed } else { exit });
    }
    if writes && !args.yes {
        confirm(session, &planned)?;
    } else if !session.output.json {
        session.output.print_text(&render_plan(&planned));
    }
    let applied: Vec<Applied> = blocking(move || {
        let mut edit_record = edit_record;
        Ok(steps.into_iter().map(|step| apply(step, &mut edit_record)).collect())
    })
    .await?;
    let done = report.with_result(&machine, &applied);
    let text = format!("{}{}", render_result(&done, &planned), render_notes(&done));
    let exit = session.print_result(&done, &text);
    let is_refused = applied.iter().any(|applied| applied.step.change == Change::Refused);
    Ok(if is_refused { Exit::Failed } else { exit })
}

/// Shows the plan and asks for confirmation. Without a terminal there is no one to ask, so the command stops after the plan.
fn confirm(session: &Session, planned: &Report) -> Result<(), CommandError> {
    let is_terminal = prompt::can_ask() && !session.output.json;
    if !session.output.json {
        session.output.print_text(&render_plan(planned));
    }
    let not_confirmed = |message: &str| {
        let fault = Fault::new(ErrorCode::InvalidInput, message)
            .with_details(serde_json::to_value(planned).unwrap_or_default());
        CommandError::not_run(fault)
    };
    if !is_terminal {
        let mut error =
            not_confirmed("Nothing was changed: stdin is not a terminal, so you could not be asked.");
        error.fault = error.fault.with_hint("Add --yes to write these changes, or --print to see them only.");
        return Err(error);
    }
    if prompt::agrees("Write these changes?", false) {
        return Ok(());
    }
    Err(not_confirmed("Nothing was changed."))
}

/// Returns the agents with these names, which the argument parser has checked, in table order.
fn named_agents(names: &[String]) -> Vec<&'static Client> {
    CLIENTS.iter().filter(|client| names.iter().any(|name| name == client.id)).collect()
}

fn agent_ids() -> impl Iterator<Item = &'static str> {
    CLIENTS.iter().filter(|client| client.install.is_some()).map(|client| client.id)
}

fn agent_names() -> PossibleValuesParser {
    let agents = CLIENTS.iter().filter(|client| client.install.is_some());
    PossibleValuesParser::new(agents.map(|client| PossibleValue::new(client.id).help(client.name)))
}
