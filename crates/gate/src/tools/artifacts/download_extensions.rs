//! `download_extensions`: installs sqlite-vec for portable files, or updates pgvector in the connected database.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{UrlList, download_progress, is_local_operator, refuse_given, resolve_path};
use crate::app::Bulkhead;
use crate::tools::spec::run_typed;
use crate::tools::{Call, Effects, ToolSpec, Toolset, schema};
use contract::{ErrorCode, Fault, Warning};
use store::postgres::VectorExtension;
use tenancy::Scope;
use upkeep::install::DownloadOptions;
use upkeep::install::extensions::{ExtensionEntry, install_extensions, platform_name};
use upkeep::install::sources::parse_sources;

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "download_extensions",
    title: "Download extensions",
    description: "Install SQLite's vector extension (sqlite-vec, for portable index files), or update pgvector in the connected database.",
    toolset: Toolset::ARTIFACTS,
    effects: Effects::FETCHES,
    scope: Scope::Admin,
    bulkhead: Bulkhead::None,
    timeout: |limits| limits.artifacts_ms,
    input: schema::generate_schema::<DownloadExtensionsInput>,
    output: schema::generate_output_schema::<DownloadExtensionsOutput>,
    run: |call, arguments| run_typed(call, arguments, download_extensions),
    ..ToolSpec::BASE
};

/// Which vector extension.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ExtensionProvider {
    /// sqlite-vec, for portable files.
    #[default]
    SqliteVec,
    /// pgvector, in the connected database.
    Pgvector,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct DownloadExtensionsInput {
    /// Base of relative paths.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// sqlite-vec (default) or pgvector, which accepts only `update`.
    provider: Option<ExtensionProvider>,
    /// Folder to install into; default: that of the installation.
    dir: Option<String>,
    /// name=url of a library, or of an archive (zip, tar, tar.gz) that contains one; or the name of one that the operator allows.
    url: Option<UrlList>,
    /// Also copy the library to this file.
    out: Option<String>,
    /// Folder with the wheel of sqlite-vec; nothing is downloaded.
    from: Option<String>,
    /// linux or macos; default: this machine.
    platform: Option<String>,
    /// x86_64 or aarch64; default: this machine.
    arch: Option<String>,
    /// sqlite-vec: download it again if it changed; pgvector: update it to the newest version that the server has.
    update: Option<bool>,
    /// Download it even if it is installed.
    force: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DownloadExtensionsOutput {
    /// sqlite-vec or pgvector.
    provider: ExtensionProvider,
    /// Path of the library: relative to the installation, or below `dir` as given.
    #[serde(skip_serializing_if = "Option::is_none")]
    extension_path: Option<String>,
    /// Extensions that were installed or updated.
    downloaded: Vec<String>,
    /// Extensions that were not changed.
    skipped: Vec<SkippedExtension>,
    /// All libraries in the folder, with the source of each.
    extensions: Vec<ExtensionEntry>,
    /// Versions of pgvector in the database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pgvector: Option<VectorExtension>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SkippedExtension {
    /// Name of the extension.
    name: String,
    /// present: it is installed, and neither update nor force was set; not-modified: the source has no other version.
    reason: &'static str,
}

async fn download_extensions(
    call: Call,
    input: DownloadExtensionsInput,
) -> Result<DownloadExtensionsOutput, Fault> {
    call.require_operator()?;
    match input.provider.unwrap_or_default() {
        ExtensionProvider::SqliteVec => install_sqlite_vec(&call, input).await,
        ExtensionProvider::Pgvector => update_pgvector(&call, &input).await,
    }
}

async fn update_pgvector(
    call: &Call,
    input: &DownloadExtensionsInput,
) -> Result<DownloadExtensionsOutput, Fault> {
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
    refuse_given(&given, "pgvector comes with the database server")?;
    // Opening the store creates the extension in the database if it is missing.
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
        skipped.push(SkippedExtension { name: "pgvector".to_owned(), reason });
    } else {
        downloaded.push("pgvector".to_owned());
    }
    let (provider, pgvector) = (ExtensionProvider::Pgvector, Some(after));
    Ok(DownloadExtensionsOutput {
        provider,
        extension_path: None,
        downloaded,
        skipped,
        extensions: Vec::new(),
        pgvector,
    })
}

async fn install_sqlite_vec(
    call: &Call,
    input: DownloadExtensionsInput,
) -> Result<DownloadExtensionsOutput, Fault> {
    let app = &call.app;
    let urls = UrlList::into_urls(input.url);
    let paths = [("dir", input.dir.is_some()), ("out", input.out.is_some()), ("from", input.from.is_some())];
    require_local_operator(call, &paths)?;
    if !urls.is_empty() {
        refuse_given(
            &[("from", input.from.is_some())],
            "it is the source of the built-in library and cannot be combined with `url`",
        )?;
    }
    let repo_path = input.repo_path.as_deref();
    let has_path = [&input.dir, &input.out, &input.from].into_iter().any(Option::is_some);
    if repo_path.is_some() && !has_path {
        refuse_given(&[("repoPath", true)], "no path of the call is relative to it")?;
    }
    let resolve = |given: Option<&str>| given.map(|given| resolve_path(call, repo_path, given)).transpose();
    let folder = resolve(input.dir.as_deref())?.unwrap_or_else(|| app.layout.extensions());
    let platform = platform_name(input.platform.as_deref(), input.arch.as_deref())?;
    let options = DownloadOptions {
        layout: &app.layout,
        config: &app.config,
        clock: &*app.clock,
        folder: folder.clone(),
        from: resolve(input.from.as_deref())?,
        update: input.update.unwrap_or(false),
        force: input.force.unwrap_or(false),
    };
    let sources = parse_sources(&app.config.downloads, &urls, is_local_operator(call))?;
    let out = resolve(input.out.as_deref())?;
    let on_progress = download_progress(call);
    let installed = tokio::select! {
        installed = install_extensions(&options, &platform, &sources, &on_progress) => installed?,
        () = call.cancel.cancelled() => {
            return Err(Fault::new(ErrorCode::Cancelled, "The download was cancelled."));
        }
    };
    if let Some(out) = &out {
        installed.copy_to(out).await?;
    }
    let relative_path = installed.file.strip_prefix(&folder).unwrap_or(&installed.file);
    let extension_path = match (&input.out, &input.dir) {
        (Some(out), _) => out.clone(),
        (None, Some(dir)) => Path::new(dir).join(relative_path).to_string_lossy().into_owned(),
        (None, None) => Path::new("extensions").join(relative_path).to_string_lossy().into_owned(),
    };
    Ok(DownloadExtensionsOutput {
        provider: ExtensionProvider::SqliteVec,
        extension_path: Some(extension_path),
        downloaded: installed.downloaded,
        skipped: installed
            .skipped
            .into_iter()
            .map(|(name, reason)| SkippedExtension { name, reason })
            .collect(),
        extensions: installed.entries,
        pgvector: None,
    })
}

/// Refuses paths unless the operator calls on this machine: a library is a program that the server may load.
///
/// # Errors
/// `FORBIDDEN` for a path from any other caller.
pub(super) fn require_local_operator(call: &Call, given: &[(&str, bool)]) -> Result<(), Fault> {
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((field, _)) if !is_local_operator(call) => {
            let message = format!("`{field}` names a file on the server that may be a program.");
            Err(Fault::new(ErrorCode::Forbidden, message)
                .with_hint("Omit it, or use the command line on the server."))
        }
        _ => Ok(()),
    }
}
