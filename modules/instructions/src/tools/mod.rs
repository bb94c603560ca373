//! Tools of the instruction catalog, each of which is also a JSON-RPC method with slashes; and the operations behind its prompt, its
//! resources and its stream.

mod checksums;
mod diff;
mod diff_stream;
mod export;
mod flush;
mod gates;
mod get;
mod hotset;
mod import;
mod list;
mod meta_tools;
mod metrics;
mod reload;
mod remove;
mod repair;
mod review;
mod search;
mod track;
mod track_batch;
mod verify;

mod duplicates;
mod listing;
mod open;
mod operations;
mod project_input;
mod refresh;
mod resource;
mod spec;
mod stale;
mod table;

use crate::method_times::MethodTimes;
use crate::{bound_folders, catalog, usage_writer};
use gate::app::App;
use gate::module::{EndedCall, Module, Records};
use gate::tools::{ToolSpec, Toolset};
use tenancy::Scope;

/// The toolset of the instruction catalog.
const TOOLSET: Toolset = Toolset::opt_in("instructions", |config| config.instructions.enabled);

/// One instruction of the catalog; answers [`InstructionText`](operations::InstructionText).
const READ_INSTRUCTION: &ToolSpec = &operations::READ;
/// Ids of instructions that match what was typed; answers [`Completions`](gate::tools::browse::Completions).
const COMPLETE_INSTRUCTION: &ToolSpec = &operations::COMPLETE_ID;
/// The changes of the catalog, one event for each entry; the arguments are those of the tool `instructions_diff`.
pub(crate) const STREAM_DIFFERENCE: &ToolSpec = &diff_stream::TOOL;

/// The part of the module in the gate.
pub(crate) static MODULE: Module = Module {
    name: "instructions",
    toolsets: &[TOOLSET],
    tools: &[
        &list::TOOL,
        &get::TOOL,
        &search::TOOL,
        &export::TOOL,
        &diff::TOOL,
        &checksums::TOOL,
        &import::TOOL,
        &remove::TOOL,
        &repair::TOOL,
        &reload::TOOL,
        &review::TOOL,
        &verify::TOOL,
        &gates::TOOL,
        &track::TOOL,
        &track_batch::TOOL,
        &hotset::TOOL,
        &flush::TOOL,
        &metrics::TOOL,
        &meta_tools::TOOL,
    ],
    operations: &[READ_INSTRUCTION, COMPLETE_INSTRUCTION, STREAM_DIFFERENCE],
    prompts: &[&operations::APPLY],
    resources: &[&resource::ENTRIES],
    records: &[Records {
        source: &catalog::RECORDS,
        is_hidden: |config, principal| {
            !config.instructions.enabled || !principal.has_scope(Scope::Instructions)
        },
    }],
    background: &[|app| Box::pin(usage_writer::write_uses(app))],
    refreshes: &[|app| Box::pin(bound_folders::watch_folders(app))],
    writers: &[&usage_writer::WRITER],
    call_ended: Some(record_method),
    command_ended: Some(|app| Box::pin(usage_writer::write_rest(app))),
    ..Module::EMPTY
};

/// Records a call of a method: its time, and one line in the log if it writes.
fn record_method(app: &App, call: &EndedCall<'_>) {
    let Some(method) = call.tool.method else { return };
    let EndedCall { project, outcome, ms, .. } = *call;
    app.state_or_default::<MethodTimes>().record(project, method, ms);
    if app.config.instructions.log_mutations && !call.tool.effects.read_only {
        tracing::info!(project, outcome, ms, "{method} of the instruction catalog");
    }
}

#[cfg(test)]
mod tests {
    use super::MODULE;
    use super::table::CATALOG_TOOLS;

    #[test]
    fn each_tool_is_a_method_and_in_the_table() {
        let listed: Vec<&str> = MODULE.tools.iter().map(|tool| tool.name).collect();
        let in_table: Vec<&str> = CATALOG_TOOLS.iter().map(|row| row.spec.name).collect();
        assert_eq!(listed, in_table);
        for tool in MODULE.tools {
            assert_eq!(tool.method.map(|method| method.replace('/', "_")).as_deref(), Some(tool.name));
        }
    }
}
