//! Which definition lines of a file show, and how to ask who calls it.

use crate::tools::Call;
use contract::Fault;
use store::{Access, DefinitionRow, Project, ProjectTx, definitions};

/// Kinds that are called, and kinds that are used by their name.
const CALLED: &[&str] = &["function", "method", "class"];
const USED: &[&str] = &["struct", "interface", "trait", "enum", "impl", "type"];

/// Names that nearly everybody defines: who calls one of them says nothing. Those between two underscores are, too.
const COMMON: &[&str] = &[
    "main",
    "init",
    "new",
    "constructor",
    "initialize",
    "setup",
    "setupclass",
    "setupmodule",
    "teardown",
    "teardownclass",
    "tostring",
    "string",
    "clone",
    "default",
    "drop",
    "dispose",
    "finalize",
    "equals",
    "hashcode",
    "eq",
    "hash",
    "fmt",
    "error",
    "from",
    "into",
    "len",
    "index",
    "deinit",
    "destructor",
];

/// What somebody asked to be shown of a file.
#[derive(Debug, Clone, Default)]
pub(super) struct Asked {
    /// First and last line shown.
    pub(super) lines: (usize, usize),
    /// The line that the hit is about, where a hit was asked for.
    pub(super) about: Option<usize>,
    /// The line that was asked for.
    pub(super) line: Option<usize>,
    /// Whether lines were asked for rather than the file.
    pub(super) is_part: bool,
}

/// Notes who could be asked for next: the callers of what is shown of a file.
pub(super) async fn suggest(
    call: &Call,
    project: &Project,
    file_id: i64,
    asked: &Asked,
) -> Result<(), Fault> {
    let number = |line: usize| i32::try_from(line).unwrap_or(i32::MAX);
    let lines = (number(asked.lines.0), number(asked.lines.1));
    let mut tx = ProjectTx::begin(call.app.store().await?, project, Access::Search).await?;
    let defined = definitions::of_lines(&mut tx, file_id, lines).await?;
    tx.commit().await?;
    call.suggest(asks_for_callers(&defined, asked));
    Ok(())
}

/// A question for the callers of what is shown: the definition that a hit is about, else the one around the line that was
/// asked for, else the one that holds the first line; of several, the outermost that is shown whole. Where lines were asked
/// for and none of those is whole, the first that is. None where that is none, or its name is one that everybody has.
fn asks_for_callers(defined: &[DefinitionRow], asked: &Asked) -> Option<String> {
    let named: Vec<&DefinitionRow> = defined
        .iter()
        .filter(|one| CALLED.contains(&one.kind.as_str()) || USED.contains(&one.kind.as_str()))
        .collect();
    let first = |one: &DefinitionRow| usize::try_from(one.start_line).unwrap_or(0);
    let last = |one: &DefinitionRow| usize::try_from(one.end_line).unwrap_or(0);
    let whole = |one: &DefinitionRow| first(one) >= asked.lines.0 && last(one) <= asked.lines.1;
    // Outer ones stand before inner ones.
    let holding =
        |line: usize| named.iter().copied().filter(move |one| first(one) <= line && line <= last(one));
    let around = |line: usize| holding(line).find(|one| whole(one)).or_else(|| holding(line).next_back());
    let about = |line: usize| {
        let here = |one: &&&DefinitionRow| usize::try_from(one.line) == Ok(line);
        named.iter().find(here).copied().or_else(|| around(line))
    };
    let begins = || named.iter().copied().find(|one| whole(one)).filter(|_| asked.is_part);
    let shown = asked
        .about
        .and_then(about)
        .or_else(|| asked.line.and_then(around))
        .or_else(|| holding(asked.lines.0).find(|one| whole(one)))
        .or_else(begins)
        .or_else(|| holding(asked.lines.0).next_back())?;
    let is_name = |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let name = Some(shown.name.as_str()).filter(is_name).filter(|name| !is_common(name))?;
    let field = if CALLED.contains(&shown.kind.as_str()) { "calls" } else { "uses" };
    Some(format!("{field}:{name}"))
}

fn is_common(name: &str) -> bool {
    let folded = name.to_lowercase().replace('_', "");
    COMMON.contains(&folded.as_str()) || (name.starts_with("__") && name.ends_with("__"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, kind: &str, line: i32, start_line: i32, end_line: i32) -> DefinitionRow {
        DefinitionRow {
            name: name.into(),
            qualified: name.into(),
            kind: kind.into(),
            line,
            start_line,
            end_line,
            ..DefinitionRow::default()
        }
    }

    #[test]
    fn what_was_shown_is_asked_about() {
        let file = [
            row("Engine", "struct", 3, 2, 9),
            row("Route", "class", 12, 11, 30),
            row("__init__", "method", 14, 14, 16),
            row("matches", "method", 18, 17, 20),
            row("total", "variable", 32, 32, 32),
            row("main", "function", 40, 40, 45),
        ];
        let ask = |lines: (usize, usize), more: Asked| {
            asks_for_callers(&file, &Asked { lines, ..more }).unwrap_or_default()
        };
        let part = || Asked { is_part: true, ..Asked::default() };
        assert_eq!(ask((1, 45), Asked::default()), "", "the head of a file");
        assert_eq!(ask((1, 10), part()), "uses:Engine", "its comment stands before it");
        assert_eq!(ask((11, 30), part()), "calls:Route");
        assert_eq!(ask((11, 45), part()), "calls:Route", "the first of several");
        assert_eq!(ask((17, 20), part()), "calls:matches");
        assert_eq!(ask((18, 19), part()), "calls:matches", "a part of it");
        assert_eq!(ask((14, 16), part()), "");
        assert_eq!(ask((19, 45), part()), "", "the end of one and the whole of another, which everybody has");
        assert_eq!(ask((8, 30), part()), "calls:Route", "the end of one and the whole of another");
        assert_eq!(ask((40, 45), part()), "");
        assert_eq!(
            ask((11, 30), Asked { about: Some(18), ..part() }),
            "calls:matches",
            "what the hit is about"
        );
        assert_eq!(ask((1, 45), Asked { line: Some(18), ..Asked::default() }), "calls:Route");
        assert_eq!(ask((31, 39), part()), "");
    }
}
