//! `instructions`: the instruction catalog on the command line: its entries, the checks of them, and the files that hold it.
//!
//! Every command calls tools, so the gate applies its permissions. Commands that write files read the entries themselves from the
//! database afterwards (`snapshot`).

mod checks;
mod entries;
mod remove;

mod earlier_export;
mod folder;
mod folder_diff;
mod folder_export;
mod folder_import;

mod agent_drift;
mod agent_export;
mod agent_files;
mod agent_import;

mod import_calls;
mod snapshot;
mod writable_folder;

use serde::Serialize;

use surfaces::cli::shell::{CommandResult, Session, command, parsed};
use surfaces::module::ModuleCommand;

/// The command.
pub(crate) const COMMAND: ModuleCommand = ModuleCommand {
    command: || {
        command::<InstructionsArgs>(
            "instructions",
            "The team's instructions for agents: export, import, check and search them",
        )
    },
    run: |session, matches| Box::pin(async move { run_instructions(session, parsed(matches)?).await }),
    after: "triage",
};

/// Arguments of `instructions`.
#[derive(Debug, clap::Args)]
struct InstructionsArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List the entries
    List(entries::ListArgs),
    /// Show an entry
    Get(entries::GetArgs),
    /// Find entries that contain a text, or with --semantic entries that are about it
    Search(entries::SearchArgs),
    /// Print the entries that hold for a task, as agents get them
    Apply(entries::ApplyArgs),
    /// Check a prompt: secrets, vague words, dangerous commands; exits with 1 on a high or critical issue
    Review(checks::ReviewArgs),
    /// Check that nobody changed an entry behind the server's back, and on request that none is stale or said twice; exits with 1
    /// if somebody did, with --fail-on also on these
    Verify(checks::VerifyArgs),
    /// Evaluate the gates of the catalog; exits with 1 if one of severity error fails, with --require also if there are none
    Gates(checks::GatesArgs),
    /// List the entries that are used most
    Hot(checks::HotArgs),
    /// Write the catalog to a folder, one file an entry
    Export(folder_export::ExportArgs),
    /// Import a folder of entries
    Import(folder_import::ImportArgs),
    /// Compare a folder with the catalog; exits with 1 if they differ
    Diff(folder_diff::DiffArgs),
    /// Remove entries
    Remove(remove::RemoveArgs),
    /// Import what a repository has for agents: AGENTS.md, CLAUDE.md, rules of Cursor, Copilot and Windsurf, skills
    ImportAgents(agent_import::ImportAgentsArgs),
    /// Write the catalog in the form that an agent reads
    ExportAgents(agent_export::ExportAgentsArgs),
}

/// Which project's catalog it is.
#[derive(Debug, Clone, Default, clap::Args, Serialize)]
struct ProjectArg {
    /// Project of the catalog [default: as configured, else the default workspace]
    #[arg(long, value_name = "ID")]
    #[serde(rename = "project_id", skip_serializing_if = "Option::is_none")]
    project: Option<String>,
}

/// Entry point of `instructions`.
async fn run_instructions(session: &Session, args: InstructionsArgs) -> CommandResult {
    match args.action {
        Action::List(args) => entries::list_entries(session, &args).await,
        Action::Get(args) => entries::show_entry(session, &args).await,
        Action::Search(args) => entries::search_entries(session, &args).await,
        Action::Apply(args) => entries::apply_entries(session, &args).await,
        Action::Review(args) => checks::review_prompt(session, &args).await,
        Action::Verify(args) => checks::verify_entries(session, &args).await,
        Action::Gates(args) => checks::evaluate_gates(session, &args).await,
        Action::Hot(args) => checks::list_hot_entries(session, &args).await,
        Action::Export(args) => folder_export::export_folder(session, &args).await,
        Action::Import(args) => folder_import::import_folder(session, args).await,
        Action::Diff(args) => folder_diff::compare_folder(session, &args).await,
        Action::Remove(args) => remove::remove_entries(session, &args).await,
        Action::ImportAgents(args) => agent_import::import_agent_files(session, args).await,
        Action::ExportAgents(args) => agent_export::export_agent_files(session, args).await,
    }
}

/// Formats a number with the form of the noun that fits it.
fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    #[command(no_binary_name = true)]
    struct Line {
        #[command(flatten)]
        args: InstructionsArgs,
    }

    #[test]
    fn the_grammar_refuses_what_the_tools_would() {
        for line in [
            "list --category security --project a",
            "get no-secrets",
            "search keys --semantic",
            "apply task --path src/a.rs --path b.rs --max-tokens 100",
            "review -",
            "verify --stale --duplicates",
            "verify --fail-on stale,duplicates",
            "gates --project a",
            "gates --require",
            "hot --limit 100",
            "export rules --format json",
            "import rules --overwrite --prune --if-hash 00",
            "diff rules",
            "remove a b",
            "import-agents",
            "import-agents . --overwrite --dry-run",
            "export-agents all . --force --dry-run",
            "export-agents cursor",
        ] {
            let parsed = Line::try_parse_from(line.split(' '));
            assert!(parsed.is_ok(), "{line}: {parsed:?}");
        }
        for line in [
            "import rules --prune", "remove", "hot --limit 0", "verify --fail-on warnings",
            "hot --limit 101", "apply task --max-tokens 0", "export rules --format yaml",
            "export-agents nobody", "review",
        ] {
            assert!(Line::try_parse_from(line.split(' ')).is_err(), "{line}");
        }
        assert!(Line::try_parse_from(["apply", "task", "--path", "a b"]).is_err());
    }

    #[test]
    fn nouns_fit_their_numbers() {
        assert_eq!(counted(1, "entry", "entries"), "1 entry");
        assert_eq!(counted(0, "entry", "entries"), "0 entries");
    }
}
