//! `call`: calls any enabled tool and prints the envelope that a server would send.

use std::io::Read;

use serde_json::Value;

use super::background_run::BackgroundRun;
use super::flags::indexable;
use super::index::BuildIndex;
use super::progress_bar::CallProgressBar;
use super::session::{CommandError, CommandResult, Session};
use crate::answer;
use contract::{ErrorCode, Fault};
use gate::tools::{Caller, Surface};

/// Arguments of `call`.
#[derive(Debug, clap::Args)]
pub(super) struct CallArgs {
    /// Name of the tool, as `pairofcleats tools` lists it
    tool: String,
    /// Arguments: a JSON object, @FILE, or - for stdin [default: {}]
    #[arg(value_name = "JSON|@FILE|-", conflicts_with = "args")]
    positional: Option<String>,
    /// The same, as a flag
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    args: Option<String>,
    /// Correlation id, returned in the answer's `_meta.requestId`
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
}

/// Entry point of `call`. Prints the envelope: on one line with `--json`, otherwise indented.
pub(super) async fn call_tool(session: &Session, args: &CallArgs) -> CommandResult {
    let source = args.positional.as_deref().or(args.args.as_deref()).unwrap_or("{}");
    let arguments = read_arguments(source).map_err(CommandError::not_run)?;
    let caller = session.caller(Surface::Cli).map_err(CommandError::not_run)?;
    let caller = Caller { request_id: args.request_id.clone(), ..caller };
    let bar = CallProgressBar::new(session.output);
    let called = session.call_as(caller, &args.tool, &arguments, bar.progress()).await;
    bar.finish();
    let envelope = answer::json(&called.envelope);
    // JSON output escapes control characters but not other invisible ones; those are up to the reader.
    session.output.print_line(&if session.output.json {
        envelope.to_string()
    } else {
        format!("{envelope:#}")
    });
    if args.tool == "build_index" {
        // A server would finish the run after the answer; this process exits, so a detached one has to.
        let path = arguments["repoPath"].as_str().unwrap_or(".");
        let path = indexable(path, &session.app.config.git).unwrap_or_else(|_| path.to_owned());
        let built = BuildIndex {
            repo_path: &path,
            project_id: arguments["project_id"].as_str(),
            ..BuildIndex::default()
        };
        if let Some(background) = BackgroundRun::from_answer(session, &called, &built) {
            background.continue_after_exit().await;
        }
    }
    Ok(called.exit)
}

fn read_arguments(source: &str) -> Result<Value, Fault> {
    let unreadable = |error: &dyn std::fmt::Display| {
        Fault::new(ErrorCode::InvalidRequest, format!("The arguments could not be read: {error}.")).with_hint(
            "Pass a JSON object, for example '{\"query\": \"retry delay\"}', or @FILE, or - for stdin.",
        )
    };
    let text = match source {
        "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map_err(|error| unreadable(&error))?;
            text
        }
        file if file.starts_with('@') => {
            std::fs::read_to_string(&file[1..]).map_err(|error| unreadable(&error))?
        }
        json => json.to_owned(),
    };
    serde_json::from_str(&text).map_err(|error| unreadable(&format_args!("they are not valid JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_json_and_files() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "{\"a\": 1}").unwrap();
        assert_eq!(
            read_arguments("{\"a\":1}").unwrap(),
            read_arguments(&format!("@{}", file.path().display())).unwrap()
        );
        for bad in ["{", "@/no/such/file", ""] {
            assert_eq!(read_arguments(bad).unwrap_err().code, ErrorCode::InvalidRequest, "{bad}");
        }
    }
}
