//! `download_dictionaries`: word lists that split names such as `getusername`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::given::{Addresses, base, in_person, path, progress};
use crate::app::Bulkhead;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::repository;
use crate::tools::spec::typed;
use crate::tools::{Call, Effects, TimeoutClass, ToolSpec, Toolset, schema};
use contract::config::Enabled;
use contract::{Fault, Warning};
use tenancy::Scope;
use upkeep::dictionaries::{Entry, Outcome, Skipped, Workshop, bring};
use upkeep::sources::sources;

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "download_dictionaries",
    title: "Download dictionaries",
    description: "Install word lists that split unsegmented identifiers (getusername: get, user, name), for all projects. Each repository is \
        read again with them by its next index run.",
    toolset: Toolset::Artifacts,
    effects: Effects::FETCHES,
    scope: Scope::Admin,
    bulkhead: Bulkhead::None,
    timeout: TimeoutClass::Artifacts,
    input: schema::of::<Input>,
    output: schema::of_answer::<Output>,
    run: |call, arguments| typed(call, arguments, run),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Input {
    /// What relative paths are below; `outdated` then tells of this repository alone.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Project that `outdated` tells of; omitted: the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
    /// Built-in lists, commas between them; default `en`, or none where url is given.
    #[schemars(length(max = 200))]
    lang: Option<String>,
    /// Folder to bring them to; default: the installation's.
    dir: Option<String>,
    /// name=url of a list (a word a line, then its frequency or nothing), or the name of one that the operator allows.
    url: Option<Addresses>,
    /// Folder with the files, instead of any download.
    from: Option<String>,
    /// Ask again for lists that are there, and take them if they changed.
    update: Option<bool>,
    /// Bring everything anew.
    force: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// Lists that are new or changed.
    downloaded: Vec<Outcome>,
    /// Lists that were left as they were.
    skipped: Vec<Skipped>,
    /// All lists of the folder, and where each came from.
    dictionaries: Vec<Entry>,
    /// Whether searching and indexing use this folder.
    active: bool,
    /// Words that are used now.
    words: usize,
    /// Repositories of the project that were indexed with other lists; their next run reads them anew.
    outdated: Vec<String>,
}

async fn run(call: Call, input: Input) -> Result<Output, Fault> {
    call.require_operator()?;
    let app = &call.app;
    let given = Addresses::list(input.url);
    let lang = input.lang.as_deref().unwrap_or(if given.is_empty() { "en" } else { "" });
    let languages: Vec<String> =
        lang.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let repo_path = input.repo_path.as_deref();
    let root = if repo_path.is_some() { base(&call, repo_path)? } else { None };
    let named = |given: Option<&str>| given.map(|given| path(&call, repo_path, given)).transpose();
    let folder = named(input.dir.as_deref())?.unwrap_or_else(|| app.dictionaries.folder().to_owned());
    let workshop = Workshop {
        layout: &app.layout,
        config: &app.config,
        clock: &*app.clock,
        folder: folder.clone(),
        from: named(input.from.as_deref())?,
        update: input.update.unwrap_or(false),
        force: input.force.unwrap_or(false),
    };
    let sources = sources(&app.config.downloads, &given, in_person(&call))?;
    let told = progress(&call);
    let brought = tokio::select! {
        brought = bring(&workshop, &languages, &sources, &told) => brought?,
        () = call.cancel.cancelled() => {
            return Err(Fault::new(contract::ErrorCode::Cancelled, "The download was cancelled."));
        }
    };
    let dictionary = app.dictionaries.current().await;
    let fingerprint = dictionary.as_ref().map_or([0; 32], |dictionary| dictionary.fingerprint());
    let outdated = match outdated(&call, input.project_id.as_deref(), root, fingerprint).await {
        Ok(outdated) => outdated,
        Err(fault) if fault.code == contract::ErrorCode::ValidationError => return Err(fault),
        Err(fault) => {
            // The lists are there; that nobody can be asked who needs them is not a failure of bringing them.
            call.warn(Warning::new(
                "storage",
                format!("Nobody could be asked what is outdated: {}", fault.message),
            ));
            Vec::new()
        }
    };
    Ok(Output {
        downloaded: brought.downloaded,
        skipped: brought.skipped,
        dictionaries: brought.catalog.dictionaries,
        active: app.config.dictionaries.enabled == Enabled::Auto && folder == app.dictionaries.folder(),
        words: dictionary.map_or(0, |dictionary| dictionary.len()),
        outdated,
    })
}

/// Names of repositories that were read with another dictionary.
async fn outdated(
    call: &Call,
    project_id: Option<&str>,
    root: Option<PathBuf>,
    fingerprint: [u8; 32],
) -> Result<Vec<String>, Fault> {
    let Some(project) = call.reading().project_if_any(project_id).await? else { return Ok(Vec::new()) };
    let known = repository::all(call, &project).await?;
    let meant = |known_root: &str| root.as_ref().is_none_or(|root| root.as_os_str() == known_root);
    let other = known.into_iter().filter(|row| meant(&row.root) && row.versions.dictionary != fingerprint);
    Ok(other.map(|row| row.name).collect())
}
