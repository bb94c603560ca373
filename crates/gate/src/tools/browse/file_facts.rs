//! `resources/file_facts`: the facts about a file, its parts and its lines: last change, definitions, authors, risks, lint findings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::known_lines::KnownLines;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::search::open_file::require_relative;
use crate::tools::spec::run_typed;
use crate::tools::{Call, ToolSpec, repository, schema};
use contract::{ErrorCode, Fault, echo};
use engine::indexing::{StoredLines, read_lines};
use engine::search::History;
use languages::facts::Field;
use store::navigation::{DefinitionAt, definitions_of_file};
use store::{Access, ProjectTx, files, history, names};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "resources/file_facts",
    title: "What is known of a file",
    description: "Last change, definitions, authors, risks and lint findings of an indexed file and its parts.",
    input: schema::generate_schema::<FileFactsInput>,
    output: schema::generate_output_schema::<KnownFile>,
    run: |call, arguments| run_typed(call, arguments, file_facts),
    ..super::complete::TOOL
};

/// Maximum number of parts of a file in an answer; larger files are generated, or data.
const PARTS_MAX: usize = 2000;
/// Maximum number of definitions of a file in an answer.
const DEFINITIONS_MAX: i64 = 2000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FileFactsInput {
    /// Name of the repository.
    #[schemars(length(min = 1, max = 4096))]
    repository: String,
    /// Path relative to the repository.
    #[schemars(length(min = 1, max = 4096))]
    path: String,
    /// Whether the answer has the commits that added its lines, and not only whether they are known.
    #[serde(default)]
    lines: bool,
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
}

/// What is known of a file.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KnownFile {
    /// Its last change; empty outside of git.
    #[serde(flatten)]
    pub history: History,
    /// Its parts in file order, as far as anything is known of them.
    pub parts: Vec<KnownPart>,
    /// Its definitions that are names of code, in file order.
    pub definitions: Vec<KnownDefinition>,
    /// Which commits added its lines, as of the indexed text; absent where that is not known, or was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<KnownLines>,
    /// Whether that is known.
    pub lines_known: bool,
    /// Whether that is not known only because no run has found it out in time.
    pub lines_pending: bool,
}

impl KnownFile {
    /// Returns the authors of the part that contains a line.
    #[must_use]
    pub fn authors_of(&self, line: u32) -> &[String] {
        let line = i32::try_from(line).unwrap_or(i32::MAX);
        let has_line = |part: &&KnownPart| (part.start_line..=part.end_line).contains(&line);
        self.parts.iter().rfind(has_line).map_or(&[], |part| &part.authors)
    }
}

/// What is known of some lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KnownPart {
    /// First line, 1-based.
    pub start_line: i32,
    /// Last line, inclusive.
    pub end_line: i32,
    /// Who wrote them.
    pub authors: Vec<String>,
    /// Tags of the risk rules that match.
    pub risks: Vec<String>,
    /// Structural rules that are broken.
    pub lint: Vec<String>,
}

/// A definition in the outline of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KnownDefinition {
    /// Line of its name, 1-based.
    pub line: i32,
    /// `function`, `class`, `method` …
    pub kind: String,
    /// Simple name.
    pub name: String,
    /// Name, qualified with those of the enclosing definitions.
    pub qualified: String,
    /// How many of the definitions before it contain it.
    pub level: usize,
    /// The chunk that contains its name.
    pub chunk: i64,
}

/// The definitions of a file as an outline: each below those that contain it, without the variables of functions.
fn outline(rows: Vec<DefinitionAt>) -> Vec<KnownDefinition> {
    // The definitions that contain the next one, the outer first: name, and whether it is code that runs.
    let mut above: Vec<(String, bool)> = Vec::new();
    let mut outline = Vec::with_capacity(rows.len());
    for row in rows {
        let container = languages::container(&row.name, &row.qualified);
        while above.last().is_some_and(|(name, _)| Some(name.as_str()) != container) {
            above.pop();
        }
        if row.kind == "variable" && above.last().is_some_and(|(_, runs)| *runs) {
            continue;
        }
        let level = above.len();
        above.push((row.qualified.clone(), matches!(row.kind.as_str(), "function" | "method")));
        let DefinitionAt { line, kind, name, qualified, chunk_id: chunk, .. } = row;
        outline.push(KnownDefinition { line, kind, name, qualified, level, chunk });
    }
    outline
}

async fn file_facts(call: Call, input: FileFactsInput) -> Result<KnownFile, Fault> {
    let path = require_relative(&input.path)?;
    let project = call.project(input.project_id.as_deref()).await?;
    let repository = repository::indexed_repository(&call, &project, &input.repository).await?;
    let mut tx = ProjectTx::begin(call.app.store().await?, &project, Access::Search).await?;
    let Some(file) = files::get(&mut tx, repository.id, &path).await? else {
        let message = format!("The index has no file `{}` in this repository.", echo(&path));
        return Err(Fault::new(ErrorCode::NotFound, message));
    };
    let known =
        history::of_files(&mut tx, &[file.id]).await?.pop().map(|(_, facts)| facts).unwrap_or_default();
    let mut spans = history::spans(&mut tx, &[file.id]).await?.remove(&file.id).unwrap_or_default();
    spans.truncate(PARTS_MAX);
    let ids: Vec<i64> = spans.iter().map(|span| span.chunk_id).collect();
    let facts = names::of_chunks(&mut tx, &ids).await?;
    let defined = definitions_of_file(&mut tx, file.id, DEFINITIONS_MAX).await?;
    let lines = history::lines_of_file(&mut tx, file.id).await?;
    tx.commit().await?;
    let (lines, lines_pending) = match read_lines(&lines) {
        StoredLines::Known(lines) => (Some(lines), false),
        StoredLines::Pending => (None, true),
        StoredLines::Unknown => (None, false),
    };
    let of = |chunk: i64, field: Field| -> Vec<String> {
        let from = facts.partition_point(|(id, ..)| *id < chunk);
        let of_chunk = facts[from..].iter().take_while(|(id, ..)| *id == chunk);
        of_chunk.filter(|(_, code, _)| *code == field as i16).map(|(.., name)| name.clone()).collect()
    };
    let parts = spans.iter().map(|span| KnownPart {
        start_line: span.first,
        end_line: span.last,
        authors: of(span.chunk_id, Field::Author),
        risks: of(span.chunk_id, Field::RiskTag),
        lint: of(span.chunk_id, Field::Lint),
    });
    let is_known =
        |part: &KnownPart| !(part.authors.is_empty() && part.risks.is_empty() && part.lint.is_empty());
    Ok(KnownFile {
        history: History::new(known, repository.branch, repository.commit),
        parts: parts.filter(is_known).collect(),
        definitions: outline(defined),
        lines_known: lines.is_some(),
        lines: lines.as_ref().filter(|_| input.lines).map(KnownLines::from),
        lines_pending,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_says_what_contains_what() {
        let row = |line: i32, kind: &str, qualified: &str| {
            let name = qualified.rsplit(['.', ':']).next().unwrap_or_default().to_owned();
            DefinitionAt {
                line,
                kind: kind.into(),
                name,
                qualified: qualified.into(),
                ..DefinitionAt::default()
            }
        };
        let rows = vec![
            row(1, "class", "Till"),
            row(2, "variable", "Till.size"),
            row(3, "method", "Till.open"),
            row(4, "variable", "Till.open.inner"),
            row(5, "function", "Till.open.lock"),
            row(6, "method", "Till.close"),
            row(7, "class", "Till.Coin"),
            row(8, "method", "Till.Coin.weigh"),
            row(9, "function", "drawer"),
            // Its container is not just above it.
            row(10, "method", "Elsewhere::count"),
            row(11, "method", "Till.late"),
        ];
        let found: Vec<(i32, usize)> = outline(rows).iter().map(|one| (one.line, one.level)).collect();
        assert_eq!(found, [(1, 0), (2, 1), (3, 1), (5, 2), (6, 1), (7, 1), (8, 2), (9, 0), (10, 0), (11, 0)]);
    }
}
