//! `tools`: lists the tools.

use std::fmt::Write;

use super::output::{BOLD, DIM, styled};
use super::session::{CommandResult, Exit, Session};
use crate::{answer, listing};
use gate::tools::{Effects, Surface};

/// Arguments of `tools`.
#[derive(Debug, clap::Args)]
pub(super) struct ToolsArgs {}

/// Entry point of `tools`. Prints a table, or with `--json` the list with the schemas.
pub(super) fn list_tools(session: &Session) -> CommandResult {
    let caller = session.caller(Surface::Cli)?;
    if session.output.json {
        let list = serde_json::to_value(listing::visible_tools(&session.app, &caller)).unwrap_or_default();
        session.output.print_line(&answer::json(&answer::succeeded(&session.app, list, None)).to_string());
        return Ok(Exit::Ok);
    }
    let listed: Vec<_> = session.app.modules.tools().listed(&session.app.config, &caller).collect();
    let width = listed.iter().map(|tool| tool.name.len()).max().unwrap_or_default();
    let mut table = String::new();
    for tool in listed {
        let name = styled(BOLD, &format!("{:width$}", tool.name));
        let toolset = tool.toolset.name;
        let _ = writeln!(
            table,
            "{name}  {:<24}  {toolset:<8}  {}",
            tool.title,
            styled(DIM, effects_label(tool.effects))
        );
    }
    session.output.print_text(&table);
    Ok(Exit::Ok)
}

fn effects_label(effects: Effects) -> &'static str {
    match effects {
        Effects { read_only: true, .. } => "reads",
        Effects { destructive: true, .. } => "may destroy",
        _ => "writes",
    }
}
