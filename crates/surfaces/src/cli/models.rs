//! `models`: lists and installs embedding models.

use std::fmt::Write;

use clap::Subcommand;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::flags::absolute;
use super::output::{BOLD, DIM, GOOD, NOTE, styled};
use super::progress_bar::CallProgressBar;
use super::session::{CommandResult, Session};
use gate::app::blocking;

use contract::escaped_line;
use upkeep::install::{self, ModelReport, ModelState, configured_model};

/// Arguments of `models`.
#[derive(Debug, clap::Args)]
pub(super) struct ModelsArgs {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the models, whether they are installed, and the projects that use them
    List,
    /// Install or repair a model
    Download(Download),
}

#[derive(Debug, clap::Args)]
struct Download {
    /// Model ID, or `all` [default: the configured model]
    model: Option<String>,
    /// Variant: int8 or fp32 [default: the best for this machine]
    #[arg(long, value_name = "VARIANT")]
    variant: Option<String>,
    /// Install from this folder, without network access
    #[arg(long, value_name = "DIR", value_parser = absolute)]
    from: Option<String>,
    /// Install into this folder, for another machine
    #[arg(long, value_name = "DIR", value_parser = absolute)]
    into: Option<String>,
}

/// The arguments of the tool `download_models`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DownloadModels<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_dir: Option<&'a str>,
}

/// The result of `models list`.
#[derive(Debug, Serialize)]
struct ModelList {
    models: Vec<ModelRow>,
    /// Projects whose model is not in any manifest.
    others: Vec<ProjectPin>,
}

#[derive(Debug, Serialize)]
struct ModelRow {
    #[serde(flatten)]
    report: ModelReport,
    /// `true` if new projects use this model.
    configured: bool,
    /// IDs of the projects that use it; null is the default workspace.
    projects: Vec<Option<String>>,
}

#[derive(Debug, Serialize)]
struct ProjectPin {
    project_id: Option<String>,
    model: String,
    variant: String,
}

/// Entry point of `models`.
pub(super) async fn manage_models(session: &Session, args: ModelsArgs) -> CommandResult {
    match args.action {
        None | Some(Action::List) => list_models(session).await,
        Some(Action::Download(args)) => download_model(session, &args).await,
    }
}

async fn download_model(session: &Session, args: &Download) -> CommandResult {
    let arguments = DownloadModels {
        model: args.model.as_deref(),
        variant: args.variant.as_deref(),
        from: args.from.as_deref(),
        cache_dir: args.into.as_deref(),
    };
    let bar = CallProgressBar::new(session.output);
    let called = session.call("download_models", &arguments, bar.progress()).await;
    bar.finish();
    Ok(session.output.answer(&called, render_download))
}

/// Lists the models. If the database is unreachable, the projects are omitted with a note.
async fn list_models(session: &Session) -> CommandResult {
    let (layout, settings) = (session.app.layout.clone(), session.app.config.assets.clone());
    let (reports, configured) = blocking(move || {
        let configured = configured_model(&layout, &settings).ok();
        Ok((install::list_models(&layout, &settings, false)?, configured))
    })
    .await?;
    let mut pinned = match pinned_projects(session).await {
        Ok(pinned) => pinned,
        Err(fault) => {
            session.output.print_note(&format!(
                "{} the projects could not be read: {}",
                styled(NOTE, "note:"),
                fault.message
            ));
            Vec::new()
        }
    };
    let mut models = Vec::new();
    for report in reports {
        let uses_this = |pin: &ProjectPin| pin.model == report.id && pin.variant == report.variant;
        let (matching, rest): (Vec<_>, Vec<_>) = pinned.into_iter().partition(uses_this);
        pinned = rest;
        let is_configured =
            configured.as_ref().is_some_and(|(id, variant)| *id == report.id && *variant == report.variant);
        let projects = matching.into_iter().map(|pin| pin.project_id).collect();
        models.push(ModelRow { report, configured: is_configured, projects });
    }
    let listed = ModelList { models, others: pinned };
    Ok(session.print_result(&listed, &render_list(&listed)))
}

async fn pinned_projects(session: &Session) -> Result<Vec<ProjectPin>, contract::Fault> {
    let mut control = session.app.store().await?.control_read().await?;
    let known = store::projects::list(&mut control).await?;
    control.commit().await?;
    let pinned = known.into_iter().map(|project| ProjectPin {
        project_id: project.id.public().map(str::to_owned),
        model: project.model.id,
        variant: project.model.variant,
    });
    Ok(pinned.collect())
}

fn project_name(project: Option<&str>) -> String {
    escaped_line(project.unwrap_or("default"))
}

fn render_list(listed: &ModelList) -> String {
    let mut shown = String::new();
    for ModelRow { report, configured, projects } in &listed.models {
        let mark = match report.state {
            ModelState::Absent => styled(DIM, "-"),
            ModelState::Damaged => styled(NOTE, "!"),
            _ => styled(GOOD, "✓"),
        };
        let mut facts = format!(
            "{}, {} MB, {} dimensions",
            report.state.as_str(),
            report.bytes / 1_000_000,
            report.dimensions
        );
        if *configured {
            facts.push_str(", default for new projects");
        }
        if !projects.is_empty() {
            let names: Vec<String> = projects.iter().map(|id| project_name(id.as_deref())).collect();
            let _ = write!(facts, ", used by {}", names.join(" "));
        }
        let _ = writeln!(
            shown,
            "{mark} {} {:<5} {}",
            styled(BOLD, &escaped_line(&report.id)),
            report.variant,
            styled(DIM, &facts)
        );
    }
    for pin in &listed.others {
        let named = format!("{} ({})", escaped_line(&pin.model), escaped_line(&pin.variant));
        let _ = writeln!(
            shown,
            "- {} uses {named}, which is not in any manifest",
            project_name(pin.project_id.as_deref())
        );
    }
    shown
}

/// The part of a `download_models` result that is printed.
#[derive(Debug, Default, Deserialize)]
struct DownloadResult {
    models: Vec<DownloadedModel>,
}

#[derive(Debug, Deserialize)]
struct DownloadedModel {
    id: String,
    variant: String,
    bytes: u64,
    state: String,
}

fn render_download(result: &Value) -> String {
    let result = DownloadResult::deserialize(result).unwrap_or_default();
    let line = |DownloadedModel { id, variant, bytes, state }: &DownloadedModel| {
        let facts = format!("{state}, {} MB", bytes / 1_000_000);
        format!(
            "{} {} {variant}  {}\n",
            styled(GOOD, "✓"),
            styled(BOLD, &escaped_line(id)),
            styled(DIM, &facts)
        )
    };
    result.models.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_read_as_lines() {
        let report = ModelReport {
            id: "m".into(),
            variant: "int8".into(),
            title: "M".into(),
            licence: "MIT".into(),
            dimensions: 384,
            tokens_max: 256,
            bytes: 35_000_000,
            state: ModelState::Present,
            compared: Vec::new(),
        };
        let models =
            vec![ModelRow { report, configured: true, projects: vec![None, Some("client-a".into())] }];
        let others =
            vec![ProjectPin { project_id: Some("old".into()), model: "stub".into(), variant: "stub".into() }];
        let shown = anstream::adapter::strip_str(&render_list(&ModelList { models, others })).to_string();
        assert_eq!(
            shown,
            "✓ m int8  present, 35 MB, 384 dimensions, default for new projects, used by default client-a\n\
             - old uses stub (stub), which is not in any manifest\n"
        );
    }
}
