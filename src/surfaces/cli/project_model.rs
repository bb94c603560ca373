//! `projects model`: gives a project another model.

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::bars::Bar;
use super::output::{BOLD, styled};
use super::session::{Exit, Ran, Session, StopSignal, Stopped};
use crate::app::index_job::{self, By};
use crate::surfaces::answer;
use crate::tools::ProgressUpdate;
use contract::{ErrorCode, Fault, ProjectId, visible_line};
use embedding::ModelName;
use engine::indexing::RunReport;
use engine::jobs::Progress as Counts;
use store::DecidedBy;

/// Arguments of `projects model`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The project; `default` is the workspace of calls that name none
    project: String,
    /// Id of the model, as `pairofcleats models` lists it
    model: String,
    /// Which graph: int8 or fp32 [default: what suits this machine]
    #[arg(long, value_name = "VARIANT")]
    variant: Option<String>,
    /// Do it; without it, only what it would cost is told
    #[arg(long)]
    yes: bool,
}

/// What `projects model` did.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Changed {
    #[serde(rename = "project_id")]
    project_id: Option<String>,
    model: String,
    variant: String,
    /// False when the project had this model already.
    changed: bool,
    vectors_embedded: u64,
    vectors_pending: u64,
}

/// Pins the project and makes its vectors; started again after a kill it goes on where it stopped.
pub(super) async fn run(session: &Session, args: &Args) -> Ran {
    let id = ProjectId::parse(&args.project).map_err(|error| Stopped::not_run(error.into()))?;
    let name = [Some(args.model.as_str()), args.variant.as_deref()].into_iter().flatten().collect::<Vec<_>>();
    let name = ModelName::parse(&name.join(":")).ok_or_else(|| {
        let fault = Fault::new(ErrorCode::InvalidInput, "There is no such variant.");
        Stopped::not_run(fault.with_hint("The variants are int8 and fp32."))
    })?;
    let app = &session.app;
    let store = app.store().await?;
    let open = || tenancy::open(store, &id, DecidedBy::Argument);
    let project = open().await?.ok_or_else(tenancy::no_index)?;
    let changed = app.repin(&project, &name, args.yes).await?;
    let project = open().await?.ok_or_else(tenancy::no_index)?;
    let (bar, cancel) = (Bar::new(session.output), CancellationToken::new());
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
    let by = By::alone(app, &cancel);
    let embedding = index_job::embed(&by, &project, on_progress);
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
    let answer = Changed {
        project_id: id.public().map(str::to_owned),
        model: project.model().id.clone(),
        variant: project.model().variant.clone(),
        changed,
        vectors_embedded: report.vectors_embedded,
        vectors_pending: report.vectors_pending,
    };
    if session.output.json {
        let result = serde_json::to_value(&answer).unwrap_or_default();
        session.output.line(&answer::json(&answer::succeeded(app, result, None)).to_string());
    } else {
        session.output.text(&render_change(&answer));
    }
    Ok(Exit::Ok)
}

fn render_change(answer: &Changed) -> String {
    let id = visible_line(answer.project_id.as_deref().unwrap_or("default"));
    let now = if answer.changed { "has now" } else { "has" };
    let pending = match answer.vectors_pending {
        0 => String::new(),
        pending => format!(", {pending} texts wait for theirs"),
    };
    format!(
        "{} {now} the model {} ({}); {} vectors made{pending}\n",
        styled(BOLD, &id),
        visible_line(&answer.model),
        answer.variant,
        answer.vectors_embedded
    )
}
