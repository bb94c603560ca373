//! `remove`: removes entries by id.

use serde::Deserialize;

use super::import_calls::{CALL_ENTRIES_MAX, RemoveCall, index_entries};
use super::{ProjectArg, counted};
use contract::escaped_line;
use gate::tools::Progress;
use surfaces::cli::shell::{BAD, CommandResult, Exit, GOOD, Session, styled};

/// Arguments of `remove`.
#[derive(Debug, clap::Args)]
pub(super) struct RemoveArgs {
    /// Ids of the entries
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    #[command(flatten)]
    project: ProjectArg,
}

/// The ids that the calls removed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Removed {
    removed: usize,
    missing: Vec<String>,
}

/// Entry point of `remove`. Exits with 1 if an id has no entry, after the others were removed.
pub(super) async fn remove_entries(session: &Session, args: &RemoveArgs) -> CommandResult {
    let mut done = Removed::default();
    let mut last = None;
    for ids in args.ids.chunks(CALL_ENTRIES_MAX) {
        let call = RemoveCall { ids, if_hash: None, project: &args.project };
        let called = session.call("instructions_remove", &call, Progress::default()).await;
        let result = called.envelope.result.as_ref().map(Removed::deserialize);
        let is_success = result.is_some();
        if let Some(Ok(result)) = result {
            done.removed += result.removed;
            done.missing.extend(result.missing);
        }
        if session.output.json || !is_success {
            session.output.answer(&called, |_| String::new());
        }
        let exit = called.exit;
        last = Some(called);
        if !is_success {
            return Ok(exit);
        }
    }
    if done.removed > 0
        && let Some(called) = &last
    {
        index_entries(session, called).await;
    }
    if !session.output.json {
        session.output.print_text(&render(&done));
    }
    Ok(if done.missing.is_empty() { Exit::Ok } else { Exit::Failed })
}

fn render(done: &Removed) -> String {
    let mut text = format!("{} {} removed\n", styled(GOOD, "✓"), counted(done.removed, "entry", "entries"));
    for id in &done.missing {
        text.push_str(&format!("{} There is no entry {}.\n", styled(BAD, "✗"), escaped_line(id)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_without_an_entry_are_named() {
        let shown = render(&Removed { removed: 2, missing: vec!["x\u{1b}".into()] });
        let shown = anstream::adapter::strip_str(&shown).to_string();
        assert_eq!(shown, "✓ 2 entries removed\n✗ There is no entry x\\u{1b}.\n");
    }
}
