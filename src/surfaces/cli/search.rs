//! `search`: ask a question about indexed code.

use serde::Serialize;
use serde_json::Value;

use super::arguments::{absolute, repository};
use super::filter_args::FilterArgs;
use super::hits;
use super::output::{DIM, styled};
use super::session::{Called, Ran, Session};
use crate::tools::Progress;
use crate::tools::browse::SEARCH_FILE;
use contract::visible_line;

/// Arguments of `search`, which are the arguments of the tool `search`.
#[derive(Debug, Default, clap::Args, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Args {
    /// What to look for: a question, names, "a phrase"; put `--` before a query with -excluded words
    #[arg(required = true, num_args = 1.., value_name = "QUERY")]
    #[serde(serialize_with = "words")]
    pub(super) query: Vec<String>,
    /// Project to search [default: as configured, else the default workspace]
    #[arg(long, value_name = "ID")]
    #[serde(rename = "project_id", skip_serializing_if = "Option::is_none")]
    pub(super) project: Option<String>,
    /// Search this repository only: its path, or its name as `projects` lists it [default: the one you are in]
    #[arg(long = "repo", value_name = "PATH|NAME", value_parser = repository)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) repo_path: Option<String>,
    /// Search all repositories of the project, also in a directory that lies in one of them
    #[arg(long, conflicts_with = "repo_path")]
    #[serde(skip)]
    all: bool,
    /// How many hits
    #[arg(long, short = 'n', value_name = "N", allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top: Option<i64>,
    /// What to search: code, prose, extracted-prose, records, both or all
    #[arg(long, value_name = "MODE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    /// Lines around each hit
    #[arg(long, value_name = "LINES", allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<i64>,
    /// How much of each hit: compact, full or json
    #[arg(long, value_name = "LEVEL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    /// The same as --output compact
    #[arg(long, conflicts_with = "output")]
    #[serde(skip)]
    compact: bool,
    /// Skip so many hits
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u32>,
    /// Keep the answer within so many tokens, as cl100k counts them
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<usize>,
    /// Show every part of each score and how the question was read
    #[arg(long)]
    #[serde(skip_serializing_if = "not")]
    explain: bool,
    /// Ask this portable index file; no database is started
    #[arg(long, value_name = "FILE", value_parser = absolute, conflicts_with = "project")]
    #[serde(rename = "file", skip_serializing_if = "Option::is_none")]
    sqlite: Option<String>,
    /// What answers: postgres, or the project's portable file: sqlite, sqlite-fts
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    backend: Option<String>,
    /// Compare vectors, too (the default)
    #[arg(long, overrides_with = "no_ann")]
    #[serde(skip)]
    ann: bool,
    /// Let words alone decide
    #[arg(long)]
    #[serde(rename = "ann", serialize_with = "opposite", skip_serializing_if = "not")]
    no_ann: bool,
    /// Upper and lower case apart, in paths and words
    #[arg(long)]
    #[serde(skip_serializing_if = "not")]
    case: bool,
    /// Upper and lower case apart in paths
    #[arg(long)]
    #[serde(skip_serializing_if = "not")]
    case_file: bool,
    /// Upper and lower case apart in words
    #[arg(long)]
    #[serde(skip_serializing_if = "not")]
    case_tokens: bool,
    /// The filter table.
    #[command(flatten)]
    #[serde(flatten)]
    filters: FilterArgs,
}

impl Args {
    /// The question `query` about the repository at `repo_path`.
    pub(super) fn about(query: String, repo_path: &str, project: Option<&str>) -> Self {
        Self {
            query: vec![query],
            repo_path: Some(repo_path.to_owned()),
            project: project.map(str::to_owned),
            ..Self::default()
        }
    }

    /// The same by words alone.
    pub(super) fn by_words(self) -> Self {
        Self { no_ann: true, ..self }
    }
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: &Args) -> Ran {
    let called = ask(session, args).await;
    say_where(session, &called);
    Ok(session.output.answer(&called, hits::render))
}

/// Calls the tool.
pub(super) async fn ask(session: &Session, args: &Args) -> Called {
    if args.sqlite.is_some() {
        return session.browse(SEARCH_FILE, args).await;
    }
    let mut arguments = serde_json::to_value(args).unwrap_or_default();
    if args.all {
        arguments["repoPath"] = Value::from("*");
    }
    session.call("search", &arguments, Progress::default()).await
}

/// Says which repository was searched where nobody named it.
fn say_where(session: &Session, called: &Called) {
    let scope = called.envelope.meta.scope.as_ref().filter(|scope| scope.decided_by == "directory");
    if let Some(scope) = scope
        && !session.output.json
    {
        let names = visible_line(&scope.repositories.join(", "));
        session.output.note(&styled(DIM, &format!("searching {names}; --all for all repositories")));
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn not(flag: &bool) -> bool {
    !*flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn opposite<S: serde::Serializer>(flag: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(!*flag)
}

fn words<S: serde::Serializer>(query: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&query.join(" "))
}

#[cfg(test)]
mod tests {
    use crate::surfaces::cli::arguments::{Cli, Command};
    use clap::Parser;
    use serde_json::json;

    fn arguments(line: &[&str]) -> serde_json::Value {
        match Cli::try_parse_from(line).unwrap().command {
            Command::Search(args) => serde_json::to_value(args).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn flags_are_the_tools_fields() {
        assert_eq!(arguments(&["search", "retry", "delay"]), json!({ "query": "retry delay" }));
        assert_eq!(
            arguments(&[
                "search",
                "x",
                "--project",
                "a",
                "--repo",
                "/",
                "-n",
                "3",
                "--path",
                "src/**",
                "--ext",
                "rs",
                "--ext",
                "toml",
                "--lang",
                "rust",
                "--context",
                "2",
                "--output",
                "full",
                "--mode",
                "code",
                "--file",
                "a.rs",
                "--async",
                "--returns=false",
                "--branches",
                "2",
                "--meta",
                "owner=core",
                "--no-ann",
                "--case-file",
                "--offset",
                "10"
            ]),
            json!({
                "query": "x", "project_id": "a", "repoPath": "/", "top": 3, "path": ["src/**"], "file": ["a.rs"],
                "ext": ["rs", "toml"], "lang": "rust", "mode": "code", "context": 2, "output": "full",
                "async": true, "returns": false, "branchesMin": 2.0, "meta": ["owner=core"], "ann": false, "caseFile": true, "offset": 10
            })
        );
        assert_eq!(arguments(&["search", "--top", "-1", "--", "-excluded", "x"])["query"], "-excluded x");
    }
}
