//! `completion/query`: completes the last word of a query: names of filters and their values, names of definitions, paths, and
//! `repo:` with the names of repositories, which the pages understand.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::complete::matching_values;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::spec::run_typed;
use crate::tools::{Call, ToolSpec, repository, schema};
use contract::Fault;
use engine::search::fields::{FIELDS, FilterField, FilterTarget, ValueKind, field};
use languages::facts::Field;
use store::suggestions::{self, SuggestedValue};
use store::{Access, Filter, ProjectTx, RepositoryRow, Test, breakdown, files};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "completion/query",
    title: "Complete a query",
    description: "Complete the last word of a query: names of filters and their values, names of definitions, paths.",
    input: schema::generate_schema::<SuggestInput>,
    output: schema::generate_output_schema::<Suggestions>,
    run: |call, arguments| run_typed(call, arguments, suggest),
    ..super::complete::TOOL
};

/// Maximum number of suggestions of one kind.
const OF_A_KIND: i64 = 7;
/// Maximum number of names of languages or repositories.
const NAMES_MAX: usize = 12;
/// A name or a path is looked for from this many characters.
const CHARS_MIN: usize = 2;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SuggestInput {
    /// The query so far.
    #[schemars(length(max = 8192))]
    query: String,
    /// The repository that is searched; omitted: all of the project.
    #[schemars(length(max = 4096))]
    repository: Option<String>,
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
}

/// What the last word may become.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Suggestions {
    /// The best first.
    pub suggestions: Vec<QuerySuggestion>,
}

/// One word that the last word may become.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuerySuggestion {
    /// The whole query with it.
    pub query: String,
    /// The word alone.
    pub word: String,
    /// What it is: `filter`, `value`, `definition` or `path`.
    pub kind: String,
    /// What a filter does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// How many chunks have a value, or how many definitions a name; 1,000 stands for at least so many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
}

async fn suggest(call: Call, input: SuggestInput) -> Result<Suggestions, Fault> {
    let Some(typed) = TypedWord::of(&input.query) else { return Ok(Suggestions::default()) };
    let mut found = typed.filters();
    if let Some(project) = call.project_if_any(input.project_id.as_deref()).await? {
        let known = repository::list_repositories(&call, &project).await?;
        if typed.field == Some(TypedField::Repository) {
            return Ok(Suggestions { suggestions: typed.repositories(&known) });
        }
        let named = known.iter().filter(|row| input.repository.as_ref().is_none_or(|name| *name == row.name));
        let repositories: Vec<i64> = named.map(|row| row.id).collect();
        let mut tx = ProjectTx::begin(call.app.store().await?, &project, Access::Search).await?;
        found.extend(typed.indexed(&mut tx, &repositories).await?);
        tx.commit().await?;
    }
    Ok(Suggestions { suggestions: found })
}

/// A name before a colon.
#[derive(Debug, Clone, Copy, PartialEq)]
enum TypedField {
    /// A filter of the query language.
    Filter(&'static FilterField),
    /// `repo`; the search page chooses the repository with it.
    Repository,
}

/// The name of [`TypedField::Repository`], and its description.
const REPOSITORY: (&str, &str) = ("repo", "Only this repository.");

impl TypedField {
    fn find(name: &str) -> Option<Self> {
        match name.eq_ignore_ascii_case(REPOSITORY.0) {
            true => Some(Self::Repository),
            false => field(name).map(Self::Filter),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Filter(field) => field.name,
            Self::Repository => REPOSITORY.0,
        }
    }
}

/// The word that is being typed, and its context.
#[derive(Debug, PartialEq)]
struct TypedWord<'a> {
    before: &'a str,
    /// The minus of a word that must not occur.
    minus: &'a str,
    field: Option<TypedField>,
    /// The word, or the value after the name of the field and its colon.
    part: &'a str,
}

impl<'a> TypedWord<'a> {
    /// The last word of a query; none inside of quotes and patterns, and after a space.
    fn of(query: &'a str) -> Option<Self> {
        if query.matches('"').count() % 2 == 1 || query.trim_start().starts_with('/') {
            return None;
        }
        let start = query
            .rfind(char::is_whitespace)
            .map_or(0, |at| at + query[at..].chars().next().map_or(1, char::len_utf8));
        let (before, word) = query.split_at_checked(start)?;
        let (minus, word) = word.strip_prefix('-').map_or(("", word), |rest| ("-", rest));
        if word.is_empty() || word.contains(['"', '(', ')']) {
            return None;
        }
        let typed = |field, part| Some(Self { before, minus, field, part });
        match word.split_once(':') {
            // The separator of a qualified name, such as `Store::open`.
            Some((_, rest)) if rest.starts_with(':') => typed(None, word),
            Some((name, part)) => typed(Some(TypedField::find(name)?), part),
            None => typed(None, word),
        }
    }

    fn suggestion(&self, kind: &str, value: &str) -> QuerySuggestion {
        let quoted = if value.contains(|c: char| c.is_whitespace() || "\"()".contains(c)) {
            format!("\"{}\"", value.replace('"', ""))
        } else {
            value.to_owned()
        };
        let word = match self.field {
            Some(field) => format!("{}{}:{quoted}", self.minus, field.name()),
            None => format!("{}{quoted}", self.minus),
        };
        let query = format!("{}{word}", self.before);
        QuerySuggestion { query, word, kind: kind.to_owned(), help: None, count: None }
    }

    fn counted(&self, kind: &str, values: Vec<SuggestedValue>) -> Vec<QuerySuggestion> {
        let shown = |found: SuggestedValue| QuerySuggestion {
            count: Some(found.chunks),
            ..self.suggestion(kind, &found.value)
        };
        values.into_iter().map(shown).collect()
    }

    /// Names of filters, and the values that the language of queries has itself.
    fn filters(&self) -> Vec<QuerySuggestion> {
        let begins = |name: &str| name.to_lowercase().starts_with(&self.part.to_lowercase());
        // A repository can be chosen, but not excluded.
        let repository = Some(REPOSITORY).filter(|_| self.minus.is_empty());
        match self.field {
            None => FIELDS
                .iter()
                .map(|field| (field.name, field.help))
                .chain(repository)
                .filter(|(name, _)| begins(name))
                .map(|(name, help)| {
                    let word = format!("{}{name}:", self.minus);
                    QuerySuggestion {
                        query: format!("{}{word}", self.before),
                        word,
                        kind: "filter".to_owned(),
                        help: Some(help.to_owned()),
                        count: None,
                    }
                })
                .take(usize::try_from(OF_A_KIND).unwrap_or(usize::MAX))
                .collect(),
            Some(TypedField::Filter(field)) if field.kind == ValueKind::Boolean => ["true", "false"]
                .iter()
                .filter(|value| begins(value))
                .map(|value| self.suggestion("value", value))
                .collect(),
            Some(_) => Vec::new(),
        }
    }

    /// Suggests values and names from the indexed repositories.
    async fn indexed(&self, tx: &mut ProjectTx, repositories: &[i64]) -> Result<Vec<QuerySuggestion>, Fault> {
        let target = match self.field {
            Some(TypedField::Filter(field)) => Some(field.target),
            _ => None,
        };
        let fields: &[Field] = match target {
            None if self.part.chars().count() < CHARS_MIN => return Ok(Vec::new()),
            None => {
                let named = suggestions::definitions(tx, self.part, repositories, OF_A_KIND).await?;
                let mut found = self.counted("definition", named);
                let (paths, _) = files::paths_containing(tx, repositories, self.part, OF_A_KIND).await?;
                let path = Self { field: TypedField::find("path"), ..*self };
                found.extend(paths.iter().map(|value| path.suggestion("path", value)));
                return Ok(found);
            }
            Some(FilterTarget::Path | FilterTarget::FileName) => {
                let (paths, _) = files::paths_containing(tx, repositories, self.part, OF_A_KIND).await?;
                return Ok(paths.iter().map(|value| self.suggestion("path", value)).collect());
            }
            Some(FilterTarget::Language) => return self.languages(tx, repositories).await,
            Some(FilterTarget::LastAuthor) => {
                let mut authors = suggestions::authors(tx, self.part, repositories, OF_A_KIND).await?;
                // A comma separates alternatives, in quotes too.
                authors.retain(|author| !author.value.contains([',', '"']));
                return Ok(self.counted("value", authors));
            }
            Some(FilterTarget::Kind) => &[Field::Kind],
            Some(FilterTarget::Visibility) => &[Field::Visibility],
            Some(FilterTarget::Imports) => &[Field::Import],
            Some(FilterTarget::CalledBy) => &[Field::Call],
            Some(
                FilterTarget::Names(fields)
                | FilterTarget::EndsOfNames(fields)
                | FilterTarget::PartsOfNames(fields)
                | FilterTarget::Risk(fields),
            ) => fields,
            Some(_) => return Ok(Vec::new()),
        };
        let codes: Vec<i16> = fields.iter().map(|field| *field as i16).collect();
        let values = suggestions::facts(tx, &codes, self.part, repositories, OF_A_KIND).await?;
        Ok(self.counted("value", values))
    }

    async fn languages(
        &self,
        tx: &mut ProjectTx,
        repositories: &[i64],
    ) -> Result<Vec<QuerySuggestion>, Fault> {
        let here = Filter::from(Test::Repositories(repositories.to_vec()));
        let counted = breakdown::languages(tx, &here).await?;
        let counted = counted.into_iter().filter_map(|count| Some((count.language?, count.chunks)));
        Ok(self.names(&counted.collect::<Vec<_>>()))
    }

    /// The names of the repositories with files; records are found by their own mode.
    fn repositories(&self, known: &[RepositoryRow]) -> Vec<QuerySuggestion> {
        if !self.minus.is_empty() {
            return Vec::new();
        }
        let with_files = known.iter().filter(|row| !row.is_records());
        self.names(&with_files.map(|row| (row.name.clone(), row.chunks)).collect::<Vec<_>>())
    }

    /// The names that fit, each with the number of its chunks.
    fn names(&self, counted: &[(String, i64)]) -> Vec<QuerySuggestion> {
        let fit = matching_values(counted.iter().map(|(name, _)| name.clone()).collect(), self.part).values;
        let values = fit.into_iter().filter_map(|value| {
            let chunks = counted.iter().find(|(name, _)| *name == value)?.1;
            Some(SuggestedValue { value, chunks })
        });
        self.counted("value", values.take(NAMES_MAX).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(query: &str) -> Vec<String> {
        let typed = TypedWord::of(query);
        typed.map(|typed| typed.filters().into_iter().map(|found| found.query).collect()).unwrap_or_default()
    }

    #[test]
    fn filters_complete_the_last_word() {
        assert_eq!(words("open -lan"), ["open -lang:"]);
        assert_eq!(words("async:t"), ["async:true"]);
        assert_eq!(words("open re")[..2], ["open returnType:", "open reads:"]);
        assert_eq!(words("open rep"), ["open repo:"]);
        assert!(words("ris").len() >= 5);
        for none in ["", "open ", "\"open pat", "/pat", "nothing:x", "(pat", "-rep", "repo:"] {
            assert_eq!(words(none), [""; 0], "{none}");
        }
    }

    #[test]
    fn the_separator_of_a_qualified_name_ends_no_field() {
        let typed = |query| TypedWord::of(query).map(|typed| (typed.field, typed.part));
        assert_eq!(typed("Store::op"), Some((None, "Store::op")));
        assert_eq!(typed("a path::Pa"), Some((None, "path::Pa")));
        assert_eq!(typed("repo:sh"), Some((Some(TypedField::Repository), "sh")));
        assert_eq!(typed("Store:op"), None);
    }

    #[test]
    fn repositories_are_suggested_with_their_chunks() {
        let suggested = |query| {
            let names = [("shop".to_owned(), 3), ("my shop".to_owned(), 5)];
            TypedWord::of(query).unwrap().names(&names)
        };
        let queries: Vec<(String, Option<i64>)> =
            suggested("open repo:sh").into_iter().map(|found| (found.query, found.count)).collect();
        assert_eq!(
            queries,
            [("open repo:shop".to_owned(), Some(3)), ("open repo:\"my shop\"".to_owned(), Some(5))]
        );
    }

    #[test]
    fn values_stay_one_word() {
        let typed = TypedWord::of("a path:do").unwrap();
        assert_eq!(typed.suggestion("path", "docs/a b\".md").query, "a path:\"docs/a b.md\"");
        let typed = TypedWord::of("a\u{3000}-dra").unwrap();
        assert_eq!(typed.suggestion("definition", "drawer").query, "a\u{3000}-drawer");
    }
}
