//! `download_dictionaries`: installs word lists that split identifiers such as `getusername`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{UrlList, download_progress, is_local_operator, named_root, resolve_path};
use crate::app::Bulkhead;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::repository;
use crate::tools::spec::run_typed;
use crate::tools::{Call, Effects, ToolSpec, Toolset, schema};
use contract::config::Enabled;
use contract::{Fault, Warning};
use tenancy::{RepositoryRoot, Scope};
use upkeep::install::DownloadOptions;
use upkeep::install::dictionaries::{
    DictionaryEntry, InstalledDictionary, SkippedDictionary, install_dictionaries,
};
use upkeep::install::sources::parse_sources;

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "download_dictionaries",
    title: "Download dictionaries",
    description: "Install word lists for all projects; they split unsegmented identifiers (getusername: get, user, name). The next \
        index run of each repository applies them.",
    toolset: Toolset::ARTIFACTS,
    effects: Effects::FETCHES,
    scope: Scope::Admin,
    bulkhead: Bulkhead::None,
    timeout: |limits| limits.artifacts_ms,
    input: schema::generate_schema::<DownloadDictionariesInput>,
    output: schema::generate_output_schema::<DownloadDictionariesOutput>,
    run: |call, arguments| run_typed(call, arguments, download_dictionaries),
    ..ToolSpec::BASE
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct DownloadDictionariesInput {
    /// Base of relative paths; `outdated` then covers only this repository.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Project that `outdated` covers; omitted: the session's, else the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
    /// Built-in lists, separated by commas; default `en`, or none if url is given.
    #[schemars(length(max = 200))]
    lang: Option<String>,
    /// Folder to install into; default: that of the installation.
    dir: Option<String>,
    /// name=url of a list (one word per line, optionally followed by its frequency), or the name of a list that the operator allows.
    url: Option<UrlList>,
    /// Folder with the files; nothing is downloaded.
    from: Option<String>,
    /// Check whether installed lists changed, and install the changed ones.
    update: Option<bool>,
    /// Download every list again.
    force: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DownloadDictionariesOutput {
    /// Lists that were installed or changed.
    downloaded: Vec<InstalledDictionary>,
    /// Lists that were not changed.
    skipped: Vec<SkippedDictionary>,
    /// All lists in the folder, with the source of each.
    dictionaries: Vec<DictionaryEntry>,
    /// Whether searching and indexing use this folder.
    active: bool,
    /// Number of words in use now.
    words: usize,
    /// Repositories of the project that were indexed with other lists; their next run indexes all files again.
    outdated: Vec<String>,
}

async fn download_dictionaries(
    call: Call,
    input: DownloadDictionariesInput,
) -> Result<DownloadDictionariesOutput, Fault> {
    call.require_operator()?;
    // Only a check: a malformed project id must fail the call before anything is installed, not after.
    call.for_reading().allowed_project(input.project_id.as_deref()).await?;
    let app = &call.app;
    let urls = UrlList::into_urls(input.url);
    let lang = input.lang.as_deref().unwrap_or(if urls.is_empty() { "en" } else { "" });
    let languages: Vec<String> =
        lang.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let repo_path = input.repo_path.as_deref();
    let root = repo_path.map(|repo| named_root(&call, repo)).transpose()?;
    let resolve = |given: Option<&str>| given.map(|given| resolve_path(&call, repo_path, given)).transpose();
    let folder = resolve(input.dir.as_deref())?.unwrap_or_else(|| app.dictionaries.folder().to_owned());
    let options = DownloadOptions {
        layout: &app.layout,
        config: &app.config,
        clock: &*app.clock,
        folder: folder.clone(),
        from: resolve(input.from.as_deref())?,
        update: input.update.unwrap_or(false),
        force: input.force.unwrap_or(false),
    };
    let sources = parse_sources(&app.config.downloads, &urls, is_local_operator(&call))?;
    let on_progress = download_progress(&call);
    let installed = tokio::select! {
        installed = install_dictionaries(&options, &languages, &sources, &on_progress) => installed?,
        () = call.cancel.cancelled() => {
            return Err(Fault::new(contract::ErrorCode::Cancelled, "The download was cancelled."));
        }
    };
    let dictionary = app.dictionaries.current().await;
    let fingerprint = dictionary.as_ref().map_or([0; 32], |dictionary| dictionary.fingerprint());
    let outdated = match outdated(&call, input.project_id.as_deref(), root, fingerprint).await {
        Ok(outdated) => outdated,
        Err(fault) => {
            // The lists are installed, so a database that cannot be reached is only a warning.
            call.warn(Warning::new(
                "storage",
                format!("The outdated repositories are unknown: {}", fault.message),
            ));
            Vec::new()
        }
    };
    Ok(DownloadDictionariesOutput {
        downloaded: installed.downloaded,
        skipped: installed.skipped,
        dictionaries: installed.entries,
        active: app.config.dictionaries.enabled == Enabled::Auto && folder == app.dictionaries.folder(),
        words: dictionary.map_or(0, |dictionary| dictionary.len()),
        outdated,
    })
}

/// Names of repositories that were indexed with another dictionary.
async fn outdated(
    call: &Call,
    project_id: Option<&str>,
    root: Option<RepositoryRoot>,
    fingerprint: [u8; 32],
) -> Result<Vec<String>, Fault> {
    let Some(project) = call.for_reading().project_if_any(project_id).await? else { return Ok(Vec::new()) };
    let known = repository::list_repositories(call, &project).await?;
    let is_covered = |known_root: &str| root.as_ref().is_none_or(|root| root.as_str() == known_root);
    let other =
        known.into_iter().filter(|row| is_covered(&row.root) && row.versions.dictionary != fingerprint);
    Ok(other.map(|row| row.name).collect())
}
