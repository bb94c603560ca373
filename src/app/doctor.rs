//! Is this installation whole? Each check says what is wrong and how to mend it.

use std::fs;

use serde::Serialize;

use super::{App, blocking};
use crate::contract::Fault;
use crate::upkeep::assets::{self, AssetState};

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was looked at.
    pub name: String,
    /// Whether it is well.
    pub ok: bool,
    /// What was found.
    pub message: String,
    /// What to do, if it is not well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Check {
    fn well(name: &str, message: impl Into<String>) -> Self {
        Self { name: name.to_owned(), ok: true, message: message.into(), remedy: None }
    }

    fn ill(name: &str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name: name.to_owned(), ok: false, message: message.into(), remedy: Some(remedy.into()) }
    }

    fn of(name: &str, outcome: Result<String, Fault>) -> Self {
        match outcome {
            Ok(message) => Self::well(name, message),
            Err(fault) => {
                let remedy = fault.hint.unwrap_or_else(|| "Look at the log with `--log debug`.".into());
                Self::ill(name, fault.message, remedy)
            }
        }
    }
}

/// Looks at everything; changes nothing but starting the embedded Postgres.
pub async fn examine(app: &App) -> Vec<Check> {
    let mut checks = vec![home(app)];
    checks.extend(installed(app).await);
    checks.push(Check::of("database", database(app).await));
    checks.push(Check::of("model", model(app).await));
    checks.extend(roots(app));
    checks
}

/// The data directory can be written.
fn home(app: &App) -> Check {
    let home = app.layout.home();
    let probe = home.join(format!(".doctor-{}", std::process::id()));
    let written = fs::create_dir_all(home).and_then(|()| fs::write(&probe, b"x"));
    let removed = fs::remove_file(&probe);
    match written.and(removed) {
        Ok(()) => Check::well("data directory", home.display().to_string()),
        Err(error) => Check::ill(
            "data directory",
            format!("{} cannot be written: {error}", home.display()),
            "Free space or fix its permissions, or set PAIROFCLEATS_HOME to another directory.",
        ),
    }
}

async fn installed(app: &App) -> Vec<Check> {
    let (layout, settings) = (app.layout.clone(), app.config.assets.clone());
    let reports = blocking(move || Ok(assets::survey(&layout, &settings))).await;
    let reports = match reports {
        Ok(reports) => reports,
        Err(fault) => return vec![Check::of("runtime files", Err(fault))],
    };
    let external = app.config.database.url.is_some();
    reports
        .into_iter()
        .filter(|report| !(external && report.asset == "postgres"))
        .map(|report| match report.state {
            AssetState::Sound => Check::well(&report.title, format!("installed, {} MB", report.bytes / 1_000_000)),
            AssetState::Own => Check::well(&report.title, "your own copy"),
            state => Check {
                name: report.title,
                ok: false,
                message: format!("{state:?}").to_lowercase(),
                remedy: report.remedy.or_else(|| Some("Run `pairofcleats bootstrap`.".into())),
            },
        })
        .collect()
}

async fn database(app: &App) -> Result<String, Fault> {
    let store = app.store().await?;
    let facts = store.database().facts();
    store.database().ping().await?;
    let kind = if store.database().is_external() { "external" } else { "embedded" };
    let roles = if facts.may_create_roles { "a role a project" } else { "no roles: the login may not create them" };
    let mut message =
        format!("{kind} PostgreSQL {}, pgvector {}, {roles}", facts.version, facts.vector_version);
    for warning in &facts.warnings {
        message.push_str("; ");
        message.push_str(warning);
    }
    Ok(message)
}

async fn model(app: &App) -> Result<String, Fault> {
    let embedder = app.embedder().await?.clone();
    let facts = embedder.model().clone();
    let vector = blocking(move || embedder.embed_query("where is the configuration read")).await?;
    Ok(format!("{} ({}), {} dimensions", facts.id, facts.variant, vector.len()))
}

fn roots(app: &App) -> Vec<Check> {
    let check = |root: &std::path::PathBuf| {
        if fs::read_dir(root).is_ok() {
            Check::well("allowed root", root.display().to_string())
        } else {
            Check::ill("allowed root", format!("{} cannot be read", root.display()), "Fix or remove it in indexing.roots.")
        }
    };
    app.config.indexing.roots.iter().map(check).collect()
}
