//! `projects model`: changes the embedding model of a project.

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::output::{BOLD, styled};
use super::progress_bar::CallProgressBar;
use super::session::{CommandError, CommandResult, Session, StopSignal};
use gate::app::index_job::{self, RequestingCall};

use contract::{ErrorCode, Fault, ProjectId, escaped_line};
use embedding::ModelName;
use engine::indexing::RunReport;
use engine::jobs::Progress as Counts;
use gate::tools::ProgressUpdate;

/// Arguments of `projects model`.
#[derive(Debug, clap::Args)]
pub(super) struct ProjectModelArgs {
    /// Project ID; `default` is the workspace for calls that name none
    project: String,
    /// Model ID, as `pairofcleats models` lists it
    model: String,
    /// Variant: int8 or fp32 [default: the best for this machine]
    #[arg(long, value_name = "VARIANT")]
    variant: Option<String>,
    /// Confirm the change; without this flag the command only reports its cost
    #[arg(long)]
    yes: bool,
}

/// The result that `--json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ModelChange {
    #[serde(rename = "project_id")]
    project_id: Option<String>,
    model: String,
    variant: String,
    /// `false` if the project already had this model.
    changed: bool,
    vectors_embedded: u64,
    vectors_pending: u64,
}

/// Entry point of `projects model`. Changes the model, then embeds everything; after an interruption, another call continues.
pub(super) async fn change_project_model(session: &Session, args: &ProjectModelArgs) -> CommandResult {
    let id = ProjectId::parse(&args.project).map_err(|error| CommandError::not_run(error.into()))?;
    let name = [Some(args.model.as_str()), args.variant.as_deref()].into_iter().flatten().collect::<Vec<_>>();
    let name = ModelName::parse(&name.join(":")).ok_or_else(|| {
        let fault = Fault::new(ErrorCode::InvalidInput, "The model variant is unknown.");
        CommandError::not_run(fault.with_hint("The variants are int8 and fp32."))
    })?;
    let app = &session.app;
    let store = app.store().await?;
    let project = tenancy::require(store, &id).await?;
    let changed = app.change_model(&project, &name, args.yes).await?;
    let project = tenancy::require(store, &id).await?;
    let (bar, cancel) = (CallProgressBar::new(session.output), CancellationToken::new());
    let progress = bar.progress();
    let on_progress = |counts: &Counts| {
        progress.report(ProgressUpdate {
            phase: "embed",
            done: 0.0,
            total: None,
            message: String::new(),
            detail: Some(counts.to_value()),
        });
    };
    let mut stop = StopSignal::install();
    let requester = RequestingCall::without_slot(app, &cancel);
    let embedding = index_job::embed(&requester, &project, on_progress);
    tokio::pin!(embedding);
    let done = tokio::select! {
        done = &mut embedding => done,
        () = stop.received() => {
            cancel.cancel();
            embedding.await
        }
    };
    bar.finish();
    let report = RunReport::deserialize(&done?.result).unwrap_or_default();
    let answer = ModelChange {
        project_id: id.public().map(str::to_owned),
        model: project.model().id.clone(),
        variant: project.model().variant.clone(),
        changed,
        vectors_embedded: report.vectors_embedded,
        vectors_pending: report.vectors_pending,
    };
    Ok(session.print_result(&answer, &render_change(&answer)))
}

fn render_change(answer: &ModelChange) -> String {
    let id = escaped_line(answer.project_id.as_deref().unwrap_or("default"));
    let verb = if answer.changed { "now uses" } else { "already uses" };
    let pending = match answer.vectors_pending {
        0 => String::new(),
        pending => format!(", {pending} texts still without a vector"),
    };
    format!(
        "{} {verb} the model {} ({}); {} vectors embedded{pending}\n",
        styled(BOLD, &id),
        escaped_line(&answer.model),
        answer.variant,
        answer.vectors_embedded
    )
}
