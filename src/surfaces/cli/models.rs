//! `models`: which embedding models there are, and bringing one.

use std::fmt::Write;

use clap::Subcommand;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::absolute;
use super::bars::Bar;
use super::output::{BOLD, DIM, GOOD, NOTE, styled};
use super::session::{Exit, Ran, Session};
use crate::app::blocking;
use crate::surfaces::answer;
use contract::visible_line;
use upkeep::assets::{self, ModelReport, ModelState};

/// Arguments of `models`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the models, which are installed, and which projects are pinned to them
    List,
    /// Install a model, or mend it
    Download(Download),
}

#[derive(Debug, clap::Args)]
struct Download {
    /// Id of the model, or `all` [default: the configured one]
    model: Option<String>,
    /// Which graph: int8 or fp32 [default: what suits this machine]
    #[arg(long, value_name = "VARIANT")]
    variant: Option<String>,
    /// Take the files from this folder; nothing is fetched from elsewhere
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

/// The answer to `models list`.
#[derive(Debug, Serialize)]
struct Listed {
    models: Vec<Shown>,
    /// Pinned to what no manifest has.
    others: Vec<Pinned>,
}

#[derive(Debug, Serialize)]
struct Shown {
    #[serde(flatten)]
    report: ModelReport,
    /// What new projects are pinned to.
    configured: bool,
    /// Null is the default workspace.
    projects: Vec<Option<String>>,
}

#[derive(Debug, Serialize)]
struct Pinned {
    project_id: Option<String>,
    model: String,
    variant: String,
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: Args) -> Ran {
    match args.action {
        None | Some(Action::List) => list(session).await,
        Some(Action::Download(args)) => download(session, &args).await,
    }
}

async fn download(session: &Session, args: &Download) -> Ran {
    let arguments = DownloadModels {
        model: args.model.as_deref(),
        variant: args.variant.as_deref(),
        from: args.from.as_deref(),
        cache_dir: args.into.as_deref(),
    };
    let bar = Bar::new(session.output);
    let called = session.call("download_models", &arguments, bar.progress()).await;
    bar.finish();
    Ok(session.output.answer(&called, render_download))
}

/// A list is worth having also where the database cannot be reached: then without the projects.
async fn list(session: &Session) -> Ran {
    let (layout, settings) = (session.app.layout.clone(), session.app.config.assets.clone());
    let (reports, configured) = blocking(move || {
        let configured = assets::configured_model(&layout, &settings).ok();
        Ok((assets::models(&layout, &settings, false)?, configured))
    })
    .await?;
    let mut pinned = match projects(session).await {
        Ok(pinned) => pinned,
        Err(fault) => {
            session.output.note(&format!(
                "{} the projects are not known: {}",
                styled(NOTE, "note:"),
                fault.message
            ));
            Vec::new()
        }
    };
    let mut models = Vec::new();
    for report in reports {
        let is_it = |pin: &Pinned| pin.model == report.id && pin.variant == report.variant;
        let (here, rest): (Vec<_>, Vec<_>) = pinned.into_iter().partition(is_it);
        pinned = rest;
        let is_configured =
            configured.as_ref().is_some_and(|(id, variant)| *id == report.id && *variant == report.variant);
        let projects = here.into_iter().map(|pin| pin.project_id).collect();
        models.push(Shown { report, configured: is_configured, projects });
    }
    let listed = Listed { models, others: pinned };
    if session.output.json {
        let result = serde_json::to_value(&listed).unwrap_or_default();
        session.output.line(&answer::json(&answer::succeeded(&session.app, result, None)).to_string());
    } else {
        session.output.text(&render_list(&listed));
    }
    Ok(Exit::Ok)
}

async fn projects(session: &Session) -> Result<Vec<Pinned>, contract::Fault> {
    let mut door = session.app.store().await?.control_read().await?;
    let known = store::projects::list(&mut door).await?;
    door.commit().await?;
    let pinned = known.into_iter().map(|project| Pinned {
        project_id: project.id.public().map(str::to_owned),
        model: project.model.id,
        variant: project.model.variant,
    });
    Ok(pinned.collect())
}

fn name(project: Option<&str>) -> String {
    visible_line(project.unwrap_or("default"))
}

fn render_list(listed: &Listed) -> String {
    let mut shown = String::new();
    for Shown { report, configured, projects } in &listed.models {
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
            facts.push_str(", for new projects");
        }
        if !projects.is_empty() {
            let names: Vec<String> = projects.iter().map(|id| name(id.as_deref())).collect();
            let _ = write!(facts, ", used by {}", names.join(" "));
        }
        let _ = writeln!(
            shown,
            "{mark} {} {:<5} {}",
            styled(BOLD, &visible_line(&report.id)),
            report.variant,
            styled(DIM, &facts)
        );
    }
    for pin in &listed.others {
        let named = format!("{} ({})", visible_line(&pin.model), visible_line(&pin.variant));
        let _ = writeln!(shown, "- {} uses {named}, which no manifest has", name(pin.project_id.as_deref()));
    }
    shown
}

/// The parts of a `download_models` result that people read.
#[derive(Debug, Default, Deserialize)]
struct Brought {
    models: Vec<Model>,
}

#[derive(Debug, Deserialize)]
struct Model {
    id: String,
    variant: String,
    bytes: u64,
    state: String,
}

fn render_download(result: &Value) -> String {
    let brought = Brought::deserialize(result).unwrap_or_default();
    let line = |Model { id, variant, bytes, state }: &Model| {
        let facts = format!("{state}, {} MB", bytes / 1_000_000);
        format!(
            "{} {} {variant}  {}\n",
            styled(GOOD, "✓"),
            styled(BOLD, &visible_line(id)),
            styled(DIM, &facts)
        )
    };
    brought.models.iter().map(line).collect()
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
        let models = vec![Shown { report, configured: true, projects: vec![None, Some("client-a".into())] }];
        let others =
            vec![Pinned { project_id: Some("old".into()), model: "stub".into(), variant: "stub".into() }];
        let shown = anstream::adapter::strip_str(&render_list(&Listed { models, others })).to_string();
        assert_eq!(
            shown,
            "✓ m int8  present, 35 MB, 384 dimensions, for new projects, used by default client-a\n\
             - old uses stub (stub), which no manifest has\n"
        );
    }
}
