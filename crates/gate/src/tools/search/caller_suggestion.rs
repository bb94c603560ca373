//! Suggests to ask for the callers of the definition that `show_file` shows.

use crate::tools::Call;
use crate::tools::suggestion::Suggestion;
use contract::Fault;
use engine::search::filter_text;
use store::{Access, DefinitionRow, Project, ProjectTx, definitions, use_places};

/// Kinds of definitions whose callers are searched.
const CALLED: &[&str] = &["function", "method", "class"];
/// Kinds of definitions whose usages are searched.
const USED: &[&str] = &["struct", "interface", "trait", "enum", "impl", "type"];

/// Names so common that a search for their callers is not useful, in lower case and without underscores. Names between double
/// underscores count as common, too.
const COMMON: &[&str] = &[
    "main", "init", "new", "constructor", "initialize", "setup", "setupclass", "setupmodule", "teardown",
    "teardownclass", "tostring", "string", "clone", "default", "drop", "dispose", "finalize", "equals",
    "hashcode", "eq", "hash", "fmt", "error", "from", "into", "len", "index", "deinit", "destructor",
];

/// The lines of a file that `show_file` shows, and the part that the call asked for.
#[derive(Debug, Clone, Default)]
pub(super) struct ShownRange {
    /// First and last line shown.
    pub(super) lines: (usize, usize),
    /// The line of the hit's definition, if a hit was given.
    pub(super) definition_line: Option<usize>,
    /// The `line` argument.
    pub(super) line: Option<usize>,
    /// `true` if the call asked for a range of lines rather than the whole file.
    pub(super) is_part: bool,
}

/// Suggests to ask for the callers of the shown definition, if one stands out: by its place where uses are resolved, else by a
/// search for its name.
pub(super) async fn suggest_callers(
    call: &Call,
    project: &Project,
    file_id: i64,
    shown: &ShownRange,
) -> Result<(), Fault> {
    let number = |line: usize| i32::try_from(line).unwrap_or(i32::MAX);
    let lines = (number(shown.lines.0), number(shown.lines.1));
    let mut tx = ProjectTx::begin(call.app.store().await?, project, Access::Search).await?;
    let defined = definitions::of_lines(&mut tx, file_id, lines).await?;
    let is_resolved = use_places::has_symbols(&mut tx, file_id).await?;
    tx.commit().await?;
    let query = callers_query(&defined, shown);
    let place = chosen_definition(&defined, shown).filter(|_| is_resolved && query.is_some());
    let is_called = |chosen: &DefinitionRow| CALLED.contains(&chosen.kind.as_str());
    let definition = place.and_then(|chosen| Some((usize::try_from(chosen.line).ok()?, is_called(chosen))));
    call.suggest(Suggestion { query, definition, unshown_lines: None });
    Ok(())
}

/// A query for the callers of the chosen definition, if its name is distinctive.
fn callers_query(defined: &[DefinitionRow], shown: &ShownRange) -> Option<String> {
    let chosen = chosen_definition(defined, shown)?;
    // Anonymous handlers are named by the call that registers them.
    let is_name = |name: &&str| !name.is_empty() && !name.contains(['(', '\n']);
    let name = Some(chosen.name.as_str()).filter(is_name).filter(|name| !is_common(name))?;
    let field = if CALLED.contains(&chosen.kind.as_str()) { "calls" } else { "uses" };
    Some(filter_text(field, name))
}

/// The definition that an answer is about. Chooses the definition of the hit; else the one
/// whose name is in the line of the argument `line`; else one around that line; else the outermost one that contains the first
/// shown line and is shown completely; else, if a range was requested, the first one that is shown completely; else the
/// innermost one that contains the first shown line.
fn chosen_definition<'d>(defined: &'d [DefinitionRow], shown: &ShownRange) -> Option<&'d DefinitionRow> {
    let named: Vec<&DefinitionRow> = defined
        .iter()
        .filter(|one| CALLED.contains(&one.kind.as_str()) || USED.contains(&one.kind.as_str()))
        .collect();
    let first = |one: &DefinitionRow| usize::try_from(one.start_line).unwrap_or(0);
    let last = |one: &DefinitionRow| usize::try_from(one.end_line).unwrap_or(0);
    let whole = |one: &DefinitionRow| first(one) >= shown.lines.0 && last(one) <= shown.lines.1;
    // The rows list outer definitions before inner ones.
    let holding =
        |line: usize| named.iter().copied().filter(move |one| first(one) <= line && line <= last(one));
    let around = |line: usize| holding(line).find(|one| whole(one)).or_else(|| holding(line).next_back());
    let at_definition = |line: usize| {
        let is_at = |one: &&&DefinitionRow| usize::try_from(one.line) == Ok(line);
        named.iter().find(is_at).copied().or_else(|| around(line))
    };
    let first_whole = || named.iter().copied().find(|one| whole(one)).filter(|_| shown.is_part);
    shown
        .definition_line
        .and_then(at_definition)
        .or_else(|| shown.line.and_then(at_definition))
        .or_else(|| holding(shown.lines.0).find(|one| whole(one)))
        .or_else(first_whole)
        .or_else(|| holding(shown.lines.0).next_back())
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
    fn the_query_is_about_the_shown_definition() {
        let file = [
            row("Engine", "struct", 3, 2, 9),
            row("Route", "class", 12, 11, 30),
            row("__init__", "method", 14, 14, 16),
            row("matches", "method", 18, 17, 20),
            row("total", "variable", 32, 32, 32),
            row("main", "function", 40, 40, 45),
        ];
        let ask = |lines: (usize, usize), more: ShownRange| {
            callers_query(&file, &ShownRange { lines, ..more }).unwrap_or_default()
        };
        let part = || ShownRange { is_part: true, ..ShownRange::default() };
        assert_eq!(ask((1, 45), ShownRange::default()), "", "the head of a file");
        assert_eq!(ask((1, 10), part()), "uses:Engine", "its comment precedes it");
        assert_eq!(ask((11, 30), part()), "calls:Route");
        assert_eq!(ask((11, 45), part()), "calls:Route", "the first of several");
        assert_eq!(ask((17, 20), part()), "calls:matches");
        assert_eq!(ask((18, 19), part()), "calls:matches", "a part of it");
        assert_eq!(ask((14, 16), part()), "");
        assert_eq!(
            ask((19, 45), part()),
            "",
            "the end of one and the whole of another, whose name is common"
        );
        assert_eq!(ask((8, 30), part()), "calls:Route", "the end of one and the whole of another");
        assert_eq!(ask((40, 45), part()), "");
        assert_eq!(
            ask((11, 30), ShownRange { definition_line: Some(18), ..part() }),
            "calls:matches",
            "what the hit is about"
        );
        let whole_with = |line| ShownRange { line: Some(line), ..ShownRange::default() };
        assert_eq!(ask((1, 45), whole_with(18)), "calls:matches", "the line of its name");
        assert_eq!(ask((1, 45), whole_with(19)), "calls:Route", "a line in it");
        assert_eq!(ask((31, 39), part()), "");
    }
}
