//! `call`: any tool that the operator offers, with any arguments, answered as the servers answer it.

use std::io::Read;

use serde_json::Value;

use super::arguments::absolute;
use super::bars::Bar;
use super::behind::Behind;
use super::index::BuildIndex;
use super::session::{Ran, Session, Stopped};
use crate::surfaces::answer;
use crate::tools::{Caller, Surface};
use contract::{ErrorCode, Fault};

/// Arguments of `call`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The tool's name, as `pairofcleats tools` lists it
    tool: String,
    /// Its arguments: a JSON object, @FILE, or - for stdin [default: {}]
    #[arg(value_name = "JSON|@FILE|-", conflicts_with = "args")]
    given: Option<String>,
    /// The same as an option
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    args: Option<String>,
    /// Correlation id, told again in the answer's `_meta.requestId`
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
}

/// Runs the command. The envelope is the answer: one line with `--json`, else laid out for reading.
pub(super) async fn run(session: &Session, args: &Args) -> Ran {
    let source = args.given.as_deref().or(args.args.as_deref()).unwrap_or("{}");
    let arguments = read(source).map_err(Stopped::not_run)?;
    let caller = session.caller(Surface::Cli).map_err(Stopped::not_run)?;
    let caller = Caller { request_id: args.request_id.clone(), ..caller };
    let bar = Bar::new(session.output);
    let called = session.call_as(caller, &args.tool, &arguments, bar.progress()).await;
    bar.finish();
    let envelope = answer::json(&called.envelope);
    // `{:#}` keeps control characters escaped, and JSON escapes nothing invisible: that is for the reader.
    session.output.line(&if session.output.json { envelope.to_string() } else { format!("{envelope:#}") });
    if args.tool == "build_index" {
        // A server would go on with what was not waited for.
        let path = arguments["repoPath"].as_str().unwrap_or(".");
        let path = absolute(path).unwrap_or_else(|_| path.to_owned());
        let built = BuildIndex {
            repo_path: &path,
            project_id: arguments["project_id"].as_str(),
            ..BuildIndex::default()
        };
        if let Some(behind) = Behind::of(session, &called, &built) {
            behind.go_on().await;
        }
    }
    Ok(called.exit)
}

fn read(source: &str) -> Result<Value, Fault> {
    let unreadable = |error: &dyn std::fmt::Display| {
        Fault::new(ErrorCode::InvalidRequest, format!("The arguments cannot be read: {error}.")).with_hint(
            "Give a JSON object, for example '{\"query\": \"retry delay\"}', or @FILE, or - for stdin.",
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
        assert_eq!(read("{\"a\":1}").unwrap(), read(&format!("@{}", file.path().display())).unwrap());
        for bad in ["{", "@/no/such/file", ""] {
            assert_eq!(read(bad).unwrap_err().code, ErrorCode::InvalidRequest, "{bad}");
        }
    }
}
