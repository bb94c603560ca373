//! `download_extensions`: the vector extension of the portable SQLite file, and pgvector in the connected database.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::given::{Addresses, in_person, path, progress, refuse};
use crate::app::Bulkhead;
use crate::tools::spec::typed;
use crate::tools::{Call, Effects, TimeoutClass, ToolSpec, Toolset, schema};
use contract::{ErrorCode, Fault, Warning};
use store::postgres::VectorExtension;
use tenancy::Scope;
use upkeep::extensions::{Entry, Workshop, bring, platform};
use upkeep::sources::sources;

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "download_extensions",
    title: "Download extensions",
    description: "Install SQLite's vector extension (sqlite-vec, for portable index files), or update pgvector in the connected database.",
    toolset: Toolset::Artifacts,
    effects: Effects::FETCHES,
    scope: Scope::Admin,
    bulkhead: Bulkhead::None,
    timeout: TimeoutClass::Artifacts,
    input: schema::of::<Input>,
    output: schema::of_answer::<Output>,
    run: |call, arguments| typed(call, arguments, run),
};

/// Which vector extension.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Provider {
    /// In SQLite.
    #[default]
    SqliteVec,
    /// In Postgres.
    Pgvector,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Input {
    /// What relative paths are below.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// sqlite-vec (default) or pgvector; the fields below are of sqlite-vec, but for update.
    provider: Option<Provider>,
    /// Folder to bring it to; default: the installation's.
    dir: Option<String>,
    /// name=url of a library or an archive (zip, tar, tar.gz) with one, or the name of one that the operator allows.
    url: Option<Addresses>,
    /// File that gets a copy of the library.
    out: Option<String>,
    /// Folder with the product's wheel, instead of any download.
    from: Option<String>,
    /// linux or macos; default: this machine.
    platform: Option<String>,
    /// x86_64 or aarch64; default: this machine.
    arch: Option<String>,
    /// Ask again for what is there; pgvector: bring it to the server's newest version.
    update: Option<bool>,
    /// Bring everything anew.
    force: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// sqlite-vec or pgvector.
    provider: Provider,
    /// The library: in the installation's folder, or in `dir` as it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    extension_path: Option<String>,
    /// What is new or changed.
    downloaded: Vec<String>,
    /// What was left as it was.
    skipped: Vec<Skipped>,
    /// All libraries of the folder, and where each came from.
    extensions: Vec<Entry>,
    /// pgvector in the database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pgvector: Option<VectorExtension>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Skipped {
    /// Its name.
    name: String,
    /// present: it is there, and neither update nor force was said; not-modified: there is no other one.
    reason: &'static str,
}

async fn run(call: Call, input: Input) -> Result<Output, Fault> {
    call.require_operator()?;
    match input.provider.unwrap_or_default() {
        Provider::SqliteVec => sqlite_vec(&call, input).await,
        Provider::Pgvector => pgvector(&call, &input).await,
    }
}

async fn pgvector(call: &Call, input: &Input) -> Result<Output, Fault> {
    let given = [
        ("repoPath", input.repo_path.is_some()),
        ("dir", input.dir.is_some()),
        ("url", input.url.is_some()),
        ("out", input.out.is_some()),
        ("from", input.from.is_some()),
        ("platform", input.platform.is_some()),
        ("arch", input.arch.is_some()),
        ("force", input.force.is_some()),
    ];
    refuse(&given, "pgvector comes with the database server")?;
    // Reaching the database installs the extension where it was missing.
    let database = call.app.store().await?.database();
    let before = database.vector_extension().await?;
    let update = input.update.unwrap_or(false);
    let after = if update { database.update_vector_extension().await? } else { before.clone() };
    for warning in &after.warnings {
        call.warn(Warning::new("pgvector", warning.clone()));
    }
    let (mut downloaded, mut skipped) = (Vec::new(), Vec::new());
    if after.installed == before.installed {
        let reason = if update { "not-modified" } else { "present" };
        skipped.push(Skipped { name: "pgvector".to_owned(), reason });
    } else {
        downloaded.push("pgvector".to_owned());
    }
    let (provider, pgvector) = (Provider::Pgvector, Some(after));
    Ok(Output { provider, extension_path: None, downloaded, skipped, extensions: Vec::new(), pgvector })
}

async fn sqlite_vec(call: &Call, input: Input) -> Result<Output, Fault> {
    let app = &call.app;
    let given = Addresses::list(input.url);
    let paths = [("dir", input.dir.is_some()), ("out", input.out.is_some()), ("from", input.from.is_some())];
    in_person_only(call, &paths)?;
    if !given.is_empty() {
        refuse(
            &[("from", input.from.is_some())],
            "it is where the product's own library comes from, not one by url",
        )?;
    }
    let repo_path = input.repo_path.as_deref();
    if let (Some(_), None) = (repo_path, [&input.dir, &input.out, &input.from].into_iter().flatten().next()) {
        refuse(&[("repoPath", true)], "no path of the call is relative to it")?;
    }
    let named = |given: Option<&str>| given.map(|given| path(call, repo_path, given)).transpose();
    let folder = named(input.dir.as_deref())?.unwrap_or_else(|| app.layout.extensions());
    let workshop = Workshop {
        layout: &app.layout,
        config: &app.config,
        clock: &*app.clock,
        folder: folder.clone(),
        from: named(input.from.as_deref())?,
        platform: platform(input.platform.as_deref(), input.arch.as_deref())?,
        update: input.update.unwrap_or(false),
        force: input.force.unwrap_or(false),
    };
    let sources = sources(&app.config.downloads, &given, in_person(call))?;
    let out = named(input.out.as_deref())?;
    let told = progress(call);
    let brought = tokio::select! {
        brought = bring(&workshop, &sources, &told) => brought?,
        () = call.cancel.cancelled() => {
            return Err(Fault::new(ErrorCode::Cancelled, "The download was cancelled."));
        }
    };
    if let Some(out) = &out {
        brought.copy_to(out).await?;
    }
    let below = brought.file.strip_prefix(&folder).unwrap_or(&brought.file);
    let extension_path = match (&input.out, &input.dir) {
        (Some(out), _) => out.clone(),
        (None, Some(dir)) => Path::new(dir).join(below).to_string_lossy().into_owned(),
        (None, None) => Path::new("extensions").join(below).to_string_lossy().into_owned(),
    };
    Ok(Output {
        provider: Provider::SqliteVec,
        extension_path: Some(extension_path),
        downloaded: brought.downloaded,
        skipped: brought.skipped.into_iter().map(|(name, reason)| Skipped { name, reason }).collect(),
        extensions: brought.catalog.extensions,
        pgvector: None,
    })
}

/// Libraries are programs, so where they lie and where they go is for the operator in person.
///
/// # Errors
/// `FORBIDDEN` for a path of anybody else.
pub(super) fn in_person_only(call: &Call, given: &[(&str, bool)]) -> Result<(), Fault> {
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((field, _)) if !in_person(call) => {
            let message = format!("`{field}` names a file of the server, which may be a program.");
            Err(Fault::new(ErrorCode::Forbidden, message)
                .with_hint("Leave it out, or call on the command line of the server."))
        }
        _ => Ok(()),
    }
}
