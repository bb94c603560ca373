//! `search`: queries indexed code.

use serde::Serialize;
use serde_json::Value;

use super::answer_style::page_code;
use super::filter_args::FilterArgs;
use super::flags::{absolute, repository, whole_number};
use super::hits;
use super::install::offer_assets;
use super::output::{DIM, styled};
use super::session::{CommandResult, Session, ToolAnswer};
use crate::marks::Marks;
use contract::escaped_line;
use gate::tools::Progress;
use gate::tools::browse::SEARCH_FILE;

/// Arguments of `search`, which are the arguments of the tool `search`.
#[derive(Debug, Default, clap::Args, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SearchArgs {
    /// One flag for each field of the filter table. The first field, because it is parsed with a look at the words of the query,
    /// and parsing a field removes its words.
    #[command(flatten)]
    #[serde(flatten)]
    filters: FilterArgs,
    /// Query: a question, names or "a phrase"; write `--` before a query with -excluded words
    #[arg(required = true, num_args = 1.., value_name = "QUERY")]
    #[serde(serialize_with = "joined_words")]
    pub(super) query: Vec<String>,
    /// Project to search [default: as configured, else the default workspace]
    #[arg(long, value_name = "ID")]
    #[serde(rename = "project_id", skip_serializing_if = "Option::is_none")]
    pub(super) project: Option<String>,
    /// Search only this repository: its path, or its name as `projects` lists it [default: the current one]
    #[arg(long = "repo", value_name = "PATH|NAME", value_parser = repository)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) repo_path: Option<String>,
    /// Search all repositories of the project, even from a directory inside one of them
    #[arg(long, conflicts_with = "repo_path")]
    #[serde(skip)]
    all: bool,
    /// Number of hits
    #[arg(long, short = 'n', value_name = "N", value_parser = whole_number::<i64>, allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top: Option<i64>,
    /// What to search: code, prose, extracted-prose, records, both or all; exact: lines with the query as literal text
    #[arg(long, value_name = "MODE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    /// Lines of context around each hit
    #[arg(long, value_name = "LINES", value_parser = whole_number::<i64>, allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<i64>,
    /// Detail of each hit: compact, full or json
    #[arg(long, value_name = "LEVEL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    /// The same as --output compact
    #[arg(long, conflicts_with = "output")]
    #[serde(skip)]
    compact: bool,
    /// Skip the first N hits
    #[arg(long, value_name = "N", value_parser = whole_number::<u32>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u32>,
    /// Limit the answer to N tokens, counted with the cl100k tokenizer
    #[arg(long, value_name = "N", value_parser = whole_number::<usize>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<usize>,
    /// Show how the query was parsed, what found each hit, and how its score is composed
    #[arg(long)]
    #[serde(skip_serializing_if = "is_false")]
    explain: bool,
    /// Search this portable index file instead; starts no database
    #[arg(long, value_name = "FILE", value_parser = absolute, conflicts_with = "project")]
    #[serde(rename = "file", skip_serializing_if = "Option::is_none")]
    sqlite: Option<String>,
    /// Backend: postgres, or the project's portable index as sqlite or sqlite-fts
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    backend: Option<String>,
    /// Use vectors in addition to lexical search (the default)
    #[arg(long, overrides_with = "no_ann")]
    #[serde(skip)]
    ann: bool,
    /// Lexical search only
    #[arg(long)]
    #[serde(rename = "ann", serialize_with = "negated", skip_serializing_if = "is_false")]
    no_ann: bool,
    /// The query is one regular expression: list every line that matches it, as `grep` does
    #[arg(long)]
    #[serde(skip_serializing_if = "is_false")]
    regex: bool,
    /// Match case in paths and words
    #[arg(long)]
    #[serde(skip_serializing_if = "is_false")]
    case: bool,
    /// Match case in paths
    #[arg(long)]
    #[serde(skip_serializing_if = "is_false")]
    case_file: bool,
    /// Match case in words
    #[arg(long)]
    #[serde(skip_serializing_if = "is_false")]
    case_tokens: bool,
    /// Install missing runtime files without asking
    #[arg(long)]
    #[serde(skip)]
    yes: bool,
}

impl SearchArgs {
    /// Creates a search for `query` in the repository at `repo_path`.
    pub(super) fn in_repository(query: String, repo_path: &str, project: Option<&str>) -> Self {
        Self {
            query: vec![query],
            repo_path: Some(repo_path.to_owned()),
            project: project.map(str::to_owned),
            ..Self::default()
        }
    }

    /// Returns the same search without vectors.
    pub(super) fn lexical_only(self) -> Self {
        Self { no_ann: true, ..self }
    }

    /// Returns the words to mark in the results.
    pub(super) fn marks(&self) -> Marks {
        let mode = if self.regex { "regex" } else { self.mode.as_deref().unwrap_or_default() };
        Marks::of_search(&self.query.join(" "), mode, self.case || self.case_tokens)
    }
}

/// Entry point of `search`.
pub(super) async fn run_search(session: &Session, args: &SearchArgs) -> CommandResult {
    if args.sqlite.is_none() {
        offer_assets(session, true, args.yes).await?;
    }
    let answer = call_search(session, args).await;
    note_scope(session, &answer);
    Ok(page_code(session, &answer, args.marks(), hits::render).await)
}

/// Calls the tool `search`, or searches the portable file if `--sqlite` names one.
pub(super) async fn call_search(session: &Session, args: &SearchArgs) -> ToolAnswer {
    if args.sqlite.is_some() {
        return session.browse(SEARCH_FILE, args).await;
    }
    let mut arguments = serde_json::to_value(args).unwrap_or_default();
    if args.all {
        arguments["repoPath"] = Value::from("*");
    }
    session.call("search", &arguments, Progress::default()).await
}

/// Prints a note on which repository was searched if the current directory decided it.
pub(super) fn note_scope(session: &Session, answer: &ToolAnswer) {
    let scope = answer.envelope.meta.scope.as_ref().filter(|scope| scope.decided_by == "directory");
    if let Some(scope) = scope
        && answer.envelope.ok
        && !session.output.json
    {
        let names = escaped_line(&scope.repositories.join(", "));
        session
            .output
            .print_note(&styled(DIM, &format!("searched {names}; --all searches all repositories")));
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn negated<S: serde::Serializer>(flag: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(!*flag)
}

fn joined_words<S: serde::Serializer>(query: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&query.join(" "))
}

#[cfg(test)]
mod tests {
    use crate::cli::arguments::{Cli, Command};
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
                "search", "x", "--project", "a", "--repo", "/", "-n", "3", "--path", "src/**", "--ext", "rs",
                "--ext", "toml", "--lang", "rust", "--context", "2", "--output", "full", "--mode", "code",
                "--file", "a.rs", "--async", "--returns=false", "--branches", "2", "--meta", "owner=core",
                "--no-ann", "--case-file", "--offset", "10"
            ]),
            json!({
                "query": "x", "project_id": "a", "repoPath": "/", "top": 3, "path": ["src/**"], "file": ["a.rs"],
                "ext": ["rs", "toml"], "lang": "rust", "mode": "code", "context": 2, "output": "full",
                "async": true, "returns": false, "branchesMin": 2.0, "meta": ["owner=core"], "ann": false, "caseFile": true, "offset": 10
            })
        );
        assert_eq!(arguments(&["search", "--top", "-1", "--", "-excluded", "x"])["query"], "-excluded x");
        let returns = arguments(&["search", "false", "--returns", "positives"]);
        assert_eq!(returns, json!({ "query": "false positives", "returns": true }));
    }

    #[test]
    fn a_value_after_a_space_is_refused() {
        let error = |line: &[&str]| Cli::try_parse_from(line).err().map(|error| error.to_string());
        let refused = error(&["search", "cart", "--async", "false"]).unwrap();
        assert!(refused.contains("write `--async=false`"), "{refused}");
        let refused = error(&["search", "--lint", "true", "cart"]).unwrap();
        assert!(refused.contains("write `--lint=true`"), "{refused}");
        for clear in [["search", "--async=true", "false"], ["search", "--lint=false", "true"]] {
            assert_eq!(error(&clear), None, "{clear:?}");
        }
        let refused = error(&["search", "x", "--branches", "many"]).unwrap();
        assert!(refused.contains("it is not a number"), "{refused}");
    }
}
