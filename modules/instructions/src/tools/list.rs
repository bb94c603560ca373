//! `instructions/list`: the entries of the catalog.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::listing::{Fields, ListedEntry, Page, listed};
use super::open::open;
use super::spec::reading;
use contract::Fault;
use gate::tools::for_modules::{ProjectIdArg, run_typed};
use gate::tools::{Call, ToolSpec, schema};
use instructions::entry::folded_category;

pub(super) const TOOL: ToolSpec = reading(
    (
        "instructions_list",
        "instructions/list",
        "List instructions",
        "The team's instructions for agents: all, or those of a category, in the order of ids.",
    ),
    schema::generate_schema::<Input>,
    schema::generate_output_schema::<Output>,
    |call, arguments| run_typed(call, arguments, list),
);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Only entries of this category.
    #[schemars(length(max = 255))]
    category: Option<String>,
    /// Most entries of the answer; default all.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
    /// `nextCursor` of the previous page.
    #[schemars(length(max = 120))]
    cursor: Option<String>,
    /// Default full, as long as that fits.
    fields: Option<Fields>,
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// Hash of the catalog.
    hash: String,
    /// Entries that match, also those of other pages.
    count: usize,
    /// The entries.
    #[schemars(schema_with = "schema::any_objects")]
    items: Vec<ListedEntry>,
    /// Cursor of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

async fn list(call: Call, input: Input) -> Result<Output, Fault> {
    let (project, mut catalog) = open(&call, input.project_id.as_deref()).await?;
    let category = input.category.as_deref().map(folded_category);
    let ids = catalog.ids(category.as_deref()).await?;
    let count = ids.len();
    let after = input.cursor.unwrap_or_default();
    let mut rest: Vec<String> = ids.into_iter().filter(|id| *id > after).collect();
    let has_more = input.limit.is_some_and(|limit| rest.len() > limit);
    rest.truncate(input.limit.unwrap_or(rest.len()));
    let Page { items, next_cursor } = listed(&call, &project, &mut catalog, &rest, input.fields).await?;
    let hash = catalog.hash();
    catalog.close().await?;
    let next_cursor = next_cursor.or_else(|| rest.pop().filter(|_| has_more));
    Ok(Output { hash, count, items, next_cursor })
}
