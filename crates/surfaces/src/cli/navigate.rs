//! `refs`, `callers`, `callees`, `definition`, `implementations`, `hierarchy`, `impact`: navigation by name, one command for each
//! relation.

use serde::Serialize;
use serde_json::Value;

use super::answer_style::page_code;
use super::flags::{repository, whole_number};
use super::places;
use super::session::{CommandResult, Session};
use gate::tools::Progress;

/// Arguments of a navigation, which are those of the tool `navigate`.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NavigateArgs {
    /// Name, or place: Context.json, src/context.ts:Context.json, src/context.ts:31, src/context.ts:31:5
    #[arg(value_name = "NAME|FILE:LINE")]
    symbol: String,
    /// Project [default: as configured, else the default workspace]
    #[arg(long, value_name = "ID")]
    #[serde(rename = "project_id", skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    /// Look only in this repository: its path, or its name as `projects` lists it [default: the current one]
    #[arg(long = "repo", value_name = "PATH|NAME", value_parser = repository)]
    #[serde(skip_serializing_if = "Option::is_none")]
    repo_path: Option<String>,
    /// Look in all repositories of the project, even from a directory inside one of them
    #[arg(long, conflicts_with = "repo_path")]
    #[serde(skip)]
    all: bool,
    /// Only the symbol in this file
    #[arg(long, value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// Number of places [default: 50]
    #[arg(long, short = 'n', value_name = "N", value_parser = whole_number::<u32>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u32>,
    /// Skip the first N places
    #[arg(long, value_name = "N", value_parser = whole_number::<u32>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u32>,
    /// Most steps of impact and hierarchy [default: 3]
    #[arg(long, value_name = "N", value_parser = whole_number::<u32>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    depth: Option<u32>,
    /// The weakest certainty to show: scip, resolved or name [default: resolved]
    #[arg(long, value_name = "LEVEL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    certainty: Option<String>,
    /// Only uses of this kind: call, read, write, import, type or inherit
    #[arg(long, value_name = "KIND")]
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// Limit the answer to N tokens, counted with the cl100k tokenizer
    #[arg(long, value_name = "N", value_parser = whole_number::<usize>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<usize>,
}

/// Entry point of all commands of the family.
pub(super) async fn run_navigate(
    session: &Session,
    args: &NavigateArgs,
    relation: &'static str,
) -> CommandResult {
    let mut arguments = serde_json::to_value(args).unwrap_or_default();
    arguments["relation"] = Value::from(relation);
    if args.all {
        arguments["repoPath"] = Value::from("*");
    }
    let answer = session.call("navigate", &arguments, Progress::default()).await;
    let marks = answer.envelope.result.as_ref().map(places::marks).unwrap_or_default();
    Ok(page_code(session, &answer, marks, places::render).await)
}

#[cfg(test)]
mod tests {
    use crate::cli::arguments::{Cli, Command};
    use serde_json::json;

    #[test]
    fn flags_are_the_tools_fields() {
        let line = [
            "refs", "Context.json", "--repo", "/", "-n", "3", "--offset", "9", "--certainty", "name",
            "--kind", "call",
        ];
        let Command::Refs(args) = Cli::try_parse_from(line).unwrap().command else { panic!() };
        assert_eq!(
            serde_json::to_value(args).unwrap(),
            json!({ "symbol": "Context.json", "repoPath": "/", "limit": 3, "offset": 9, "certainty": "name", "kind": "call" })
        );
        for command in ["refs", "callers", "callees", "definition", "implementations", "hierarchy", "impact"]
        {
            assert!(Cli::try_parse_from([command, "x"]).is_ok(), "{command}");
        }
    }
}
