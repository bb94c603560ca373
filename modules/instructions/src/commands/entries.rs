//! `list`, `get`, `search`, `apply`: show entries.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ProjectArg, counted};
use contract::{ErrorCode, Fault, escaped, escaped_line};
use gate::tools::Progress;
use gate::tools::browse::RenderedPrompt;
use surfaces::cli::shell::{BAD, BOLD, CommandResult, DIM, Exit, Session, styled, whole_number_in};

/// Name of the operation that selects the entries for a task.
const APPLY: &str = "apply_instructions";
/// Longest id that widens the id column.
const ID_WIDTH_MAX: usize = 40;

/// Arguments of `list`, and of the tool.
#[derive(Debug, clap::Args, Serialize)]
pub(super) struct ListArgs {
    /// Only entries of this category
    #[arg(long, value_name = "CATEGORY")]
    #[serde(skip_serializing_if = "Option::is_none")]
    category: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    project: ProjectArg,
}

/// Arguments of `get`, and of the tool.
#[derive(Debug, clap::Args, Serialize)]
pub(super) struct GetArgs {
    /// Id of the entry
    id: String,
    #[command(flatten)]
    #[serde(flatten)]
    project: ProjectArg,
}

/// Arguments of `search`, and of the tool.
#[derive(Debug, clap::Args, Serialize)]
pub(super) struct SearchArgs {
    /// The text
    #[serde(rename = "q")]
    query: String,
    /// Search by meaning, best first
    #[arg(long)]
    semantic: bool,
    #[command(flatten)]
    #[serde(flatten)]
    project: ProjectArg,
}

/// Arguments of `apply`.
#[derive(Debug, clap::Args)]
pub(super) struct ApplyArgs {
    /// What is to be done
    task: String,
    /// A file that the task touches, relative to the repository; repeatable
    #[arg(long = "path", value_name = "PATH", value_parser = single_path)]
    paths: Vec<String>,
    /// Most tokens of the instructions [default: 4000]
    #[arg(long, value_name = "N", value_parser = |text: &str| whole_number_in(text, &(1..=9_999_999_u32)))]
    max_tokens: Option<u32>,
    #[command(flatten)]
    project: ProjectArg,
}

/// Checks that the path is a single one: the operation takes several paths as one text, separated by spaces or commas.
fn single_path(text: &str) -> Result<String, String> {
    match text.contains([' ', ',', '\n']) {
        true => Err("paths with spaces or commas cannot be named here".to_owned()),
        false => Ok(text.to_owned()),
    }
}

/// The part of a list that is printed.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct EntryList {
    count: usize,
    items: Vec<EntryLine>,
    next_cursor: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EntryLine {
    id: String,
    title: String,
    requirement: String,
    priority: u64,
    score: Option<f64>,
}

#[derive(Serialize)]
struct ListPage<'a> {
    #[serde(flatten)]
    args: &'a ListArgs,
    fields: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

/// Entry point of `list`. An answer of the tool is bounded, so there may be several pages; with `--json` each is one line.
pub(super) async fn list_entries(session: &Session, args: &ListArgs) -> CommandResult {
    let json = session.output.json;
    let mut shown = EntryList::default();
    let mut cursor = None;
    loop {
        let page = ListPage { args, fields: if json { "full" } else { "summary" }, cursor };
        let called = session.call("instructions_list", &page, Progress::default()).await;
        let Some(result) = &called.envelope.result else {
            return Ok(session.output.answer(&called, |_| String::new()));
        };
        let listed = EntryList::deserialize(result).unwrap_or_default();
        if json {
            session.output.answer(&called, |_| String::new());
        }
        shown.count = listed.count;
        shown.items.extend(listed.items);
        cursor = listed.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    if !json {
        session.output.print_text(&render_list(&shown));
    }
    Ok(Exit::Ok)
}

/// Entry point of `search`.
pub(super) async fn search_entries(session: &Session, args: &SearchArgs) -> CommandResult {
    let called = session.call("instructions_search", args, Progress::default()).await;
    let render = |result: &Value| render_list(&EntryList::deserialize(result).unwrap_or_default());
    Ok(session.output.answer(&called, render))
}

fn render_list(list: &EntryList) -> String {
    let width = list.items.iter().map(|entry| entry.id.len()).max().unwrap_or_default().min(ID_WIDTH_MAX);
    let mut lines = String::new();
    for EntryLine { id, title, requirement, priority, score } in &list.items {
        let id = styled(BOLD, &format!("{:width$}", escaped_line(id)));
        let facts = styled(DIM, &format!("{requirement:<11} {priority:>3}"));
        let score = score.map(|score| styled(DIM, &format!("  {score:.3}"))).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "{id}  {facts}  {}{score}", escaped_line(title));
    }
    let more = list.count.saturating_sub(list.items.len());
    let more = if more > 0 { format!(", {more} of them are not shown") } else { String::new() };
    let total = format!("{}{more}", counted(list.count, "entry", "entries"));
    lines + &styled(DIM, &total) + "\n"
}

/// Entry point of `get`. A missing entry is a valid answer of the tool, but a failure of the command.
pub(super) async fn show_entry(session: &Session, args: &GetArgs) -> CommandResult {
    let called = session.call("instructions_get", args, Progress::default()).await;
    let is_missing = called.envelope.result.as_ref().is_some_and(|result| result["notFound"] == true);
    let exit = session.output.answer(&called, |result| match is_missing {
        true => format!("{} There is no entry {}.\n", styled(BAD, "✗"), escaped_line(&args.id)),
        false => render_entry(&FullEntry::deserialize(&result["item"]).unwrap_or_default()),
    });
    Ok(if exit == Exit::Ok && is_missing { Exit::Failed } else { exit })
}

/// The part of an entry that is printed.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct FullEntry {
    id: String,
    title: String,
    body: String,
    rationale: Option<String>,
    priority: u64,
    audience: String,
    requirement: String,
    categories: Vec<String>,
    deprecated_by: Option<String>,
    updated_at: String,
    usage_count: Option<u64>,
}

fn render_entry(entry: &FullEntry) -> String {
    let mut facts = vec![
        entry.id.clone(),
        entry.requirement.clone(),
        format!("priority {}", entry.priority),
        format!("for {}", entry.audience),
    ];
    facts.extend(entry.deprecated_by.iter().map(|id| format!("replaced by {id}")));
    facts.extend(entry.usage_count.map(|count| {
        format!("used {}", counted(usize::try_from(count).unwrap_or(usize::MAX), "time", "times"))
    }));
    facts.push(format!("changed {}", entry.updated_at));
    let facts = styled(DIM, &escaped_line(&facts.join(" · ")));
    let mut text = format!("{}\n{facts}\n", styled(BOLD, &escaped_line(&entry.title)));
    if !entry.categories.is_empty() {
        text.push_str(&styled(DIM, &escaped_line(&entry.categories.join(", "))));
        text.push('\n');
    }
    // Writing to a string cannot fail.
    let _ = writeln!(text, "\n{}", escaped(&entry.body));
    if let Some(rationale) = &entry.rationale {
        let _ = writeln!(text, "\n{}", styled(DIM, &escaped(rationale)));
    }
    text
}

/// Arguments of the operation; they are all texts.
#[derive(Serialize)]
struct ApplyInput<'a> {
    task: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    paths: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<&'a str>,
}

/// Entry point of `apply`.
pub(super) async fn apply_entries(session: &Session, args: &ApplyArgs) -> CommandResult {
    let operation = session.app.modules.prompts().find(|prompt| prompt.name == APPLY).ok_or_else(|| {
        Fault::new(ErrorCode::CapabilityMissing, "This program cannot choose instructions for a task.")
    })?;
    let input = ApplyInput {
        task: &args.task,
        paths: Some(args.paths.join("\n")).filter(|paths| !paths.is_empty()),
        max_tokens: args.max_tokens.map(|tokens| tokens.to_string()),
        project: args.project.project.as_deref(),
    };
    let called = session.browse(operation, &input).await;
    Ok(session.output.answer(&called, |result| {
        let text = RenderedPrompt::deserialize(result).map(|prompt| prompt.text).unwrap_or_default();
        format!("{}\n", escaped(text.trim_end()))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn lists_read_as_lines() {
        let list = json!({ "count": 3, "items": [
            { "id": "a", "title": "One\u{1b}", "requirement": "mandatory", "priority": 5 },
            { "id": "long-id", "title": "Two", "requirement": "critical", "priority": 100, "score": 0.5 }] });
        assert_eq!(
            plain(&render_list(&EntryList::deserialize(list).unwrap())),
            "a        mandatory     5  One\\u{1b}\nlong-id  critical    100  Two  0.500\n3 entries, 1 of them are not shown\n"
        );
        assert_eq!(plain(&render_list(&EntryList::default())), "0 entries\n");
    }

    #[test]
    fn an_entry_is_shown_with_what_is_known_of_it() {
        let entry = json!({ "id": "a", "title": "One", "body": "First.\nSecond.\u{1b}", "rationale": "Because.", "priority": 5,
            "audience": "all", "requirement": "deprecated", "deprecatedBy": "b", "categories": ["git", "x"],
            "updatedAt": "2026-01-01T00:00:00.000Z", "usageCount": 1 });
        assert_eq!(
            plain(&render_entry(&FullEntry::deserialize(entry).unwrap())),
            "One\na · deprecated · priority 5 · for all · replaced by b · used 1 time · changed 2026-01-01T00:00:00.000Z\n\
             git, x\n\nFirst.\nSecond.\\u{1b}\n\nBecause.\n"
        );
    }

    #[test]
    fn flags_become_the_tools_arguments() {
        let project = ProjectArg { project: Some("p".into()) };
        let args = ListArgs { category: None, project: project.clone() };
        let page = ListPage { args: &args, fields: "summary", cursor: Some("a".into()) };
        let expected = json!({ "project_id": "p", "fields": "summary", "cursor": "a" });
        assert_eq!(serde_json::to_value(page).unwrap(), expected);
        let search = SearchArgs { query: "x".into(), semantic: true, project };
        let expected = json!({ "q": "x", "semantic": true, "project_id": "p" });
        assert_eq!(serde_json::to_value(search).unwrap(), expected);
    }
}
