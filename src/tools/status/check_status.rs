//! `check_status`: is the server well, and what does the caller's project hold?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::Bulkhead;
use crate::contract::Fault;
use crate::tools::spec::typed;
use crate::tools::{Call, Effects, TimeoutClass, ToolSpec, Toolset, schema};

pub const TOOL: ToolSpec = ToolSpec {
    name: "check_status",
    title: "Check status",
    description: "Server health: uptime.",
    toolset: Toolset::Search,
    effects: Effects::READS,
    bulkhead: Bulkhead::None,
    timeout: TimeoutClass::Default,
    input: schema::of::<Input>,
    output: schema::of::<Output>,
    run: |call, arguments| typed(call, arguments, run),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    #[serde(rename = "uptimeMs")]
    uptime_ms: u64,
}

async fn run(call: Call, _input: Input) -> Result<Output, Fault> {
    let uptime = call.app.clock.instant().duration_since(call.app.started);
    Ok(Output { uptime_ms: u64::try_from(uptime.as_millis()).unwrap_or(u64::MAX) })
}
