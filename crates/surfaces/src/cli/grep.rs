//! `grep`: prints every line of indexed code that matches a pattern.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answer_style::{AnswerStyle, CodeLine, page_code};
use super::filter_args::FilterArgs;
use super::flags::{absolute, repository, whole_number, whole_number_in};
use super::hyperlinks::LinkedPlace;
use super::output::{DIM, GOOD, PATH, styled};
use super::search::note_scope;
use super::session::{CommandResult, Exit, Session, ToolAnswer};
use crate::marks::Marks;
use contract::escaped_line;
use gate::tools::Progress;
use gate::tools::browse::SEARCH_FILE;

/// Number of lines on a page; each page is one call.
const PAGE_LINES: usize = 1000;

/// Arguments of `grep`. Those with a name in JSON are arguments of the tool `search`.
#[derive(Debug, Default, clap::Args, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GrepArgs {
    /// One flag for each field of the filter table. The first field, because it is parsed with a look at the pattern.
    #[command(flatten)]
    #[serde(flatten)]
    filters: FilterArgs,
    /// Regular expression; write `--` before one that begins with a dash
    #[arg(value_name = "PATTERN")]
    query: String,
    /// The pattern is literal text, not a regular expression
    #[arg(long, short = 'F', conflicts_with = "mode")]
    #[serde(skip)]
    fixed: bool,
    /// Match case
    #[arg(long, short = 's')]
    #[serde(skip_serializing_if = "is_false")]
    case: bool,
    /// Ignore case (the default)
    #[arg(long, short = 'i', overrides_with = "case")]
    #[serde(skip)]
    ignore_case: bool,
    /// Lines to print after each match
    #[arg(long, short = 'A', value_name = "LINES", value_parser = whole_number::<usize>)]
    #[serde(skip)]
    after_context: Option<usize>,
    /// Lines to print before each match
    #[arg(long, short = 'B', value_name = "LINES", value_parser = whole_number::<usize>)]
    #[serde(skip)]
    before_context: Option<usize>,
    /// Lines to print before and after each match
    #[arg(long, short = 'C', value_name = "LINES", value_parser = whole_number::<usize>)]
    #[serde(skip)]
    context: Option<usize>,
    /// Print only the paths of files with matches
    #[arg(long, short = 'l', conflicts_with = "count")]
    #[serde(skip)]
    files_with_matches: bool,
    /// Print only the number of matching lines of each file
    #[arg(long, short = 'c')]
    #[serde(skip)]
    count: bool,
    /// Print at most N matching lines [default: all that are counted, see search.exact_matches_max]
    #[arg(long, short = 'n', value_name = "N", value_parser = |text: &str| whole_number_in(text, &(1..=usize::MAX)))]
    #[serde(skip)]
    top: Option<usize>,
    /// What to search: code, prose, records, both or all
    #[arg(long, value_name = "MODE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    /// Project to search [default: as configured, else the default workspace]
    #[arg(long, value_name = "ID")]
    #[serde(rename = "project_id", skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    /// Search only this repository: its path, or its name as `projects` lists it [default: the current one]
    #[arg(long = "repo", value_name = "PATH|NAME", value_parser = repository)]
    #[serde(skip_serializing_if = "Option::is_none")]
    repo_path: Option<String>,
    /// Search all repositories of the project, even from a directory inside one of them
    #[arg(long, conflicts_with = "repo_path")]
    #[serde(skip)]
    all: bool,
    /// Search this portable index file instead; starts no database
    #[arg(long, value_name = "FILE", value_parser = absolute, conflicts_with = "project")]
    #[serde(rename = "file", skip_serializing_if = "Option::is_none")]
    sqlite: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// Entry point of `grep`.
pub(super) async fn run_grep(session: &Session, args: &GrepArgs) -> CommandResult {
    let answer = all_pages(session, args).await;
    note_scope(session, &answer);
    let exit = page_code(session, &answer, args.marks(), |result, style| render(result, args, style)).await;
    let Some(result) = answer.envelope.result.as_ref() else { return Ok(Exit::NotRun) };
    if !session.output.json {
        session.output.print_note(&styled(DIM, &summary(result)));
    }
    // As in grep: 0 with matching lines, 1 without, 2 if the search failed.
    Ok(if line_count(result) == 0 { Exit::Failed } else { exit })
}

/// Calls the tool page by page; the answer contains the lines of all pages.
async fn all_pages(session: &Session, args: &GrepArgs) -> ToolAnswer {
    let mut left = args.top.unwrap_or(usize::MAX);
    let mut arguments = arguments(args, left.min(PAGE_LINES));
    let mut answer = call(session, args, &arguments).await;
    loop {
        let Some(result) = &answer.envelope.result else { return answer };
        left = args.top.unwrap_or(usize::MAX).saturating_sub(line_count(result));
        let Some(next) = result["nextOffset"].as_u64().filter(|_| left > 0) else { return answer };
        (arguments["offset"], arguments["top"]) = (Value::from(next), Value::from(left.min(PAGE_LINES)));
        let page = call(session, args, &arguments).await;
        let (Some(more), Some(all)) = (page.envelope.result.clone(), answer.envelope.result.as_mut()) else {
            return page;
        };
        append(all, more);
    }
}

fn arguments(args: &GrepArgs, top: usize) -> Value {
    let mut arguments = serde_json::to_value(args).unwrap_or_default();
    if args.fixed {
        arguments["mode"] = Value::from("exact");
    } else {
        arguments["regex"] = Value::Bool(true);
    }
    if args.all {
        arguments["repoPath"] = Value::from("*");
    }
    let (before, after) = args.around();
    if before.max(after) > 0 && !args.files_with_matches && !args.count {
        arguments["context"] = Value::from(before.max(after));
    }
    arguments["top"] = Value::from(top);
    arguments
}

async fn call(session: &Session, args: &GrepArgs, arguments: &Value) -> ToolAnswer {
    match args.sqlite {
        Some(_) => session.browse(SEARCH_FILE, arguments).await,
        None => session.call("search", arguments, Progress::default()).await,
    }
}

fn line_count(result: &Value) -> usize {
    let files = result.pointer("/matches/files").and_then(Value::as_array);
    files.map_or(0, |files| files.iter().filter_map(|file| Some(file["lines"].as_array()?.len())).sum())
}

/// Appends the lines of a page to the previous ones.
fn append(all: &mut Value, mut page: Value) {
    let more = page.pointer_mut("/matches/files").map(Value::take);
    for field in ["nextOffset", "omitted", "total", "totalRelation"] {
        if let Some(fields) = all.as_object_mut() {
            match page.get(field) {
                Some(value) => fields.insert(field.to_owned(), value.clone()),
                None => fields.shift_remove(field),
            };
        }
    }
    if let Some(total) = page.pointer("/matches/totalFiles") {
        all["matches"]["totalFiles"] = total.clone();
    }
    let Some(files) = all.pointer_mut("/matches/files").and_then(Value::as_array_mut) else { return };
    for mut file in more.as_ref().and_then(Value::as_array).into_iter().flatten().cloned() {
        let is_same = |last: &&mut Value| last["file"] == file["file"] && last["repo"] == file["repo"];
        match files.last_mut().filter(is_same).and_then(|last| last["lines"].as_array_mut()) {
            Some(lines) => lines.extend(file["lines"].take().as_array().into_iter().flatten().cloned()),
            None => files.push(file),
        }
    }
}

impl GrepArgs {
    /// Returns the number of lines before and after each match.
    fn around(&self) -> (usize, usize) {
        let around = self.context.unwrap_or(0);
        (self.before_context.unwrap_or(around), self.after_context.unwrap_or(around))
    }

    /// Returns the marks to show in the lines.
    fn marks(&self) -> Marks {
        Marks::of_search(&self.query, if self.fixed { "exact" } else { "regex" }, self.case)
    }
}

/// The part of a result that is printed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GrepResult {
    matches: FoundLines,
    total: u64,
    #[serde(rename = "totalRelation")]
    total_relation: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct FoundLines {
    files: Vec<FoundFile>,
    total_files: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FoundFile {
    file: String,
    repo: Option<String>,
    lines: Vec<FoundLine>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct FoundLine {
    line: u64,
    column: u64,
    length: usize,
    text: String,
    text_column: Option<u64>,
    before: Vec<String>,
    after: Vec<String>,
}

/// Formats the matching lines of a `search` result, each as `path:line:column:text`.
pub(super) fn render_lines(result: &Value, style: &AnswerStyle) -> String {
    render(result, &GrepArgs { context: Some(usize::MAX), ..GrepArgs::default() }, style)
}

fn render(result: &Value, args: &GrepArgs, style: &AnswerStyle) -> String {
    // A result of an unexpected shape is printed like one without lines.
    let found = GrepResult::deserialize(result).unwrap_or_default();
    let mut shown = String::new();
    for file in &found.matches.files {
        if args.files_with_matches {
            let _ = writeln!(shown, "{}", style.link(&file.place(None, None), file.shown_path()));
        } else if args.count {
            let path = style.link(&file.place(None, None), file.shown_path());
            let _ = writeln!(shown, "{path}:{}", file.lines.len());
        } else {
            file.render_into(&mut shown, args.around(), style);
        }
    }
    shown
}

impl FoundFile {
    fn shown_path(&self) -> String {
        let repo = self.repo.as_deref().map(|repo| format!("{}: ", escaped_line(repo))).unwrap_or_default();
        styled(PATH, &format!("{repo}{}", escaped_line(&self.file)))
    }

    fn place(&self, line: Option<u64>, column: Option<u64>) -> LinkedPlace<'_> {
        LinkedPlace { repository: self.repo.as_deref(), file: &self.file, line, column }
    }

    fn render_into(&self, shown: &mut String, (before, after): (usize, usize), style: &AnswerStyle) {
        let path = self.shown_path();
        let lines = self.lines_with_context(before, after);
        for run in lines.chunk_by(|one, next| one.0 + 1 == next.0) {
            // As in grep, a line of dashes separates groups of lines.
            if before.max(after) > 0 && !shown.is_empty() {
                let _ = writeln!(shown, "{}", styled(DIM, "--"));
            }
            let code: Vec<CodeLine<'_>> = run
                .iter()
                .map(|(_, found, text)| CodeLine { text, matched: found.and_then(FoundLine::matched) })
                .collect();
            for ((number, found, _), code) in run.iter().zip(style.lines(&self.file, &code)) {
                let line = styled(GOOD, &number.to_string());
                let column = found.map(|found| found.column);
                let location = match column {
                    Some(column) => format!("{path}:{line}:{column}"),
                    None => format!("{path}-{line}"),
                };
                let location = style.link(&self.place(Some(*number), column), location);
                let separator = if found.is_some() { ':' } else { '-' };
                let _ = writeln!(shown, "{location}{separator}{code}");
            }
        }
    }

    /// Returns the lines to print, so that those around two matches are printed once: the number, the match if there is one, the text.
    fn lines_with_context(&self, before: usize, after: usize) -> Vec<(u64, Option<&FoundLine>, &str)> {
        let mut lines: BTreeMap<u64, (Option<&FoundLine>, &str)> = BTreeMap::new();
        for found in &self.lines {
            let first = found.line.saturating_sub(found.before.len() as u64);
            let around = (first..).zip(&found.before).skip(found.before.len().saturating_sub(before));
            let below = (found.line + 1..).zip(found.after.iter().take(after));
            for (number, text) in around.chain(below) {
                lines.entry(number).or_insert((None, text));
            }
        }
        lines.extend(self.lines.iter().map(|found| (found.line, (Some(found), found.text.as_str()))));
        lines.into_iter().map(|(number, (found, text))| (number, found, text)).collect()
    }
}

impl FoundLine {
    /// Returns the first match in the text, in bytes.
    fn matched(&self) -> Option<Range<usize>> {
        let first = self.column.checked_sub(self.text_column.unwrap_or(1))?;
        let first = usize::try_from(first).ok()?;
        let byte = |char: usize| self.text.char_indices().map(|(at, _)| at).nth(char);
        let start = byte(first)?;
        let end = byte(first.saturating_add(self.length)).unwrap_or(self.text.len());
        (start < end).then_some(start..end)
    }
}

fn counted(number: u64, one: &str, several: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}

/// Formats the totals.
fn summary(result: &Value) -> String {
    let GrepResult { matches, total, total_relation } = GrepResult::deserialize(result).unwrap_or_default();
    let least = if total_relation.is_some() { "at least " } else { "" };
    let mut summary = format!(
        "{least}{} in {least}{}",
        counted(total, "line", "lines"),
        counted(matches.total_files, "file", "files")
    );
    let printed: usize = matches.files.iter().map(|file| file.lines.len()).sum();
    if (printed as u64) < total {
        let _ = write!(summary, ", {printed} printed");
    }
    summary
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::arguments::{Cli, Command};
    use crate::cli::output::MARK;
    use serde_json::json;

    fn parse(line: &[&str]) -> GrepArgs {
        match Cli::try_parse_from(line).unwrap().command {
            Command::Grep(args) => args,
            other => panic!("{other:?}"),
        }
    }

    fn plain(result: &Value, line: &[&str]) -> String {
        anstream::adapter::strip_str(&render(result, &parse(line), &AnswerStyle::default())).to_string()
    }

    #[test]
    fn flags_are_the_tools_fields() {
        let tool = |line: &[&str]| arguments(&parse(line), 7);
        assert_eq!(tool(&["grep", "a+b"]), json!({ "query": "a+b", "regex": true, "top": 7 }));
        assert_eq!(
            tool(&["grep", "-F", "-s", "a.b", "--path", "src/**", "-C", "2", "-A", "5", "--all", "--async"]),
            json!({ "query": "a.b", "mode": "exact", "case": true, "path": ["src/**"], "context": 5, "repoPath": "*",
                "async": true, "top": 7 })
        );
        assert_eq!(
            tool(&["grep", "--count", "-C", "2", "--", "-x"]),
            json!({ "query": "-x", "regex": true, "top": 7 })
        );
        assert_eq!(tool(&["grep", "-s", "-i", "x"]), json!({ "query": "x", "regex": true, "top": 7 }));
        assert!(
            Cli::try_parse_from(["grep"]).is_err() && Cli::try_parse_from(["grep", "x", "-l", "-c"]).is_err()
        );
    }

    fn answer() -> Value {
        json!({ "total": 3, "matches": { "totalFiles": 2, "notIndexed": { "files": 2, "reasons": { "minified": 2 } },
            "files": [
                { "file": "a.rs", "lines": [
                    { "line": 2, "column": 5, "length": 3, "text": "let foo", "before": ["// one"], "after": ["x"] },
                    { "line": 4, "column": 1, "length": 3, "text": "foo", "before": ["x"], "after": [] } ] },
                { "file": "b.rs", "repo": "shop", "lines": [
                    { "line": 9, "column": 901, "length": 3, "text": "a foo", "textColumn": 899 } ] } ] } })
    }

    #[test]
    fn lines_are_printed_as_grep_prints_them() {
        assert_eq!(
            plain(&answer(), &["grep", "x"]),
            "a.rs:2:5:let foo\na.rs:4:1:foo\nshop: b.rs:9:901:a foo\n"
        );
        assert_eq!(
            plain(&answer(), &["grep", "x", "-C", "1"]),
            "a.rs-1-// one\na.rs:2:5:let foo\na.rs-3-x\na.rs:4:1:foo\n--\nshop: b.rs:9:901:a foo\n"
        );
        assert_eq!(plain(&answer(), &["grep", "x", "-l"]), "a.rs\nshop: b.rs\n");
        assert_eq!(plain(&answer(), &["grep", "x", "-c"]), "a.rs:2\nshop: b.rs:1\n");
        assert_eq!(summary(&answer()), "3 lines in 2 files");
        let coloured = render(&answer(), &parse(&["grep", "x"]), &AnswerStyle::default());
        assert!(coloured.contains(&format!("a {}", styled(MARK, "foo"))), "{coloured:?}");
    }

    #[test]
    fn pages_are_joined() {
        let mut all = json!({ "total": 5, "totalRelation": "gte", "nextOffset": 2, "matches": { "totalFiles": 1,
            "files": [{ "file": "a", "lines": [{ "line": 1 }, { "line": 2 }] }] } });
        let page = json!({ "total": 4, "matches": { "totalFiles": 2,
            "files": [{ "file": "a", "lines": [{ "line": 3 }] }, { "file": "b", "lines": [{ "line": 1 }] }] } });
        append(&mut all, page);
        assert_eq!(
            all,
            json!({ "total": 4, "matches": { "totalFiles": 2, "files": [
                { "file": "a", "lines": [{ "line": 1 }, { "line": 2 }, { "line": 3 }] },
                { "file": "b", "lines": [{ "line": 1 }] } ] } })
        );
        assert_eq!(line_count(&all), 4);
    }

    #[test]
    fn repository_text_cannot_steer_the_terminal() {
        let result = json!({ "matches": { "files": [{ "file": "a\u{1b}[2J", "lines": [
            { "line": 1, "column": 1, "length": 1, "text": "\u{1b}[2J\u{202e}" }] }] } });
        let shown = plain(&result, &["grep", "x"]);
        assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'), "{shown:?}");
        assert_eq!(plain(&json!(null), &["grep", "x"]), "");
    }
}
