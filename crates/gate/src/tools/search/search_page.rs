//! `search/page`: the tool `search`, with the parts that only a page shows: facets, and the texts around the hits.

use schemars::JsonSchema;
use serde::Serialize;

use super::search::{self, SearchInput, find};
use crate::tools::spec::run_typed;
use crate::tools::{Call, ToolSpec, schema};
use contract::{Fault, escaped_invisible};
use engine::search::{Facets, SearchPayload, Sources};

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "search/page",
    title: "Search for a page",
    description: "`search` with facets over all hits, and the whole texts of the chunks of those that are shown.",
    output: schema::generate_output_schema::<PageAnswer>,
    run: |call, arguments| run_typed(call, arguments, search_for_page),
    ..search::TOOL
};

/// The answer of `search`, and what a page adds.
#[derive(Debug, Serialize, JsonSchema)]
struct PageAnswer {
    #[serde(flatten)]
    payload: SearchPayload,
    /// How all hits, or all matching lines, are distributed.
    facets: Facets,
    /// The texts of the chunks of the hits or lines.
    sources: Sources,
}

async fn search_for_page(call: Call, input: SearchInput) -> Result<PageAnswer, Fault> {
    let presentation = input.presentation();
    let mut answer = find(&call, input, true).await?;
    let payload = presentation.present(&call, &answer);
    let mut sources = Sources::take_from(&mut answer);
    // As in the shown parts, which are looked up in these texts. The gate would also warn of parts that are not shown.
    for source in &mut sources.texts {
        source.text = escaped_invisible(&source.text).into_owned();
    }
    Ok(PageAnswer { payload, sources, facets: answer.facets })
}
