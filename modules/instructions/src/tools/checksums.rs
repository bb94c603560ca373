//! `instructions/checksums`: hashes of parts of the catalog, so that a client finds which part changed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::open::open;
use super::spec::reading;
use contract::{ErrorCode, Fault};
use gate::tools::for_modules::{ProjectIdArg, run_typed};
use gate::tools::{Call, ToolSpec, schema};
use instructions::diff::{Bucket, buckets};

pub(super) const TOOL: ToolSpec = reading(
    (
        "instructions_checksums",
        "instructions/checksums",
        "Checksums of instructions",
        "Checksums of parts of a large catalog: compare them with your own, then diff only the `buckets` that differ.",
    ),
    schema::generate_schema::<Input>,
    schema::generate_output_schema::<Output>,
    |call, arguments| run_typed(call, arguments, checksums),
);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Input {
    /// Parts by the first 4 or 8 (default) bits of SHA-256 of the ids.
    prefix_bits: Option<u8>,
    /// Project; default: the session's.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// Hash of the catalog.
    hash: String,
    /// Hash of its metadata.
    meta_hash: String,
    /// Its revision.
    revision: i64,
    /// Entries.
    count: usize,
    /// The parts that have entries.
    #[schemars(schema_with = "schema::any_objects")]
    buckets: Vec<Bucket>,
}

async fn checksums(call: Call, input: Input) -> Result<Output, Fault> {
    let digits = match input.prefix_bits {
        None | Some(8) => 2,
        Some(4) => 1,
        Some(bits) => {
            let message = format!("`prefixBits` is {bits}, but must be 4 or 8.");
            return Err(Fault::new(ErrorCode::InvalidRequest, message));
        }
    };
    let (_, mut catalog) = open(&call, input.project_id.as_deref()).await?;
    let hashes = catalog.hashes().await?;
    let (hash, meta_hash, revision) = (catalog.hash(), catalog.meta_hash(), catalog.state.revision);
    catalog.close().await?;
    Ok(Output { hash, meta_hash, revision, count: hashes.len(), buckets: buckets(&hashes, digits) })
}
