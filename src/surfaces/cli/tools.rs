//! `tools`: what can be called.

use std::fmt::Write;

use super::output::{BOLD, DIM, styled};
use super::session::{Exit, Ran, Session};
use crate::surfaces::{answer, listing};
use crate::tools::{Effects, LIST, Surface};

/// Arguments of `tools`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

/// Runs the command: a table, or with `--json` the list with its schemas.
pub(super) fn run(session: &Session) -> Ran {
    if session.output.json {
        let list = serde_json::to_value(listing::visible(&session.caller(Surface::Cli)?)).unwrap_or_default();
        session.output.line(&answer::json(&answer::succeeded(&session.app, list, None)).to_string());
        return Ok(Exit::Ok);
    }
    let width = LIST.iter().map(|tool| tool.name.len()).max().unwrap_or_default();
    let mut table = String::new();
    for tool in LIST {
        let name = styled(BOLD, &format!("{:width$}", tool.name));
        let toolset = tool.toolset.as_str();
        let _ = writeln!(
            table,
            "{name}  {:<24}  {toolset:<8}  {}",
            tool.title,
            styled(DIM, effects(tool.effects))
        );
    }
    session.output.text(&table);
    Ok(Exit::Ok)
}

fn effects(effects: Effects) -> &'static str {
    match effects {
        Effects { read_only: true, .. } => "reads",
        Effects { destructive: true, .. } => "may destroy",
        _ => "writes",
    }
}
