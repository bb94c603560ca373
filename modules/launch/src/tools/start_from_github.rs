//! `launch_start_run_from_github_repo_url`: starts a run from a repository's address, and infers the rest from the repository.

use launch::addresses::GithubRepository;
use launch::config::{LOCALE_DEFAULT, LayoutMode, Platform, Section};
use launch::infer::infer;
use launch::quickstart::{KnownProduct, choose_site, derived_config, require_decided, sections_of_site};
use launch::state::RunState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Project;

use super::run_call::with_progress;
use super::spec::changing;
use super::starting::start;
use crate::runs::{self as runs, DescribedRepository, StartedRun};
use contract::Fault;
use gate::tools::for_modules::ProjectIdArg;
use gate::tools::for_modules::indexable_roots;
use gate::tools::for_modules::run_typed;
use gate::tools::{Call, Effects, ToolSpec, schema};
use tenancy::Scope;

/// Name of the tool.
const NAME: &str = "launch_start_run_from_github_repo_url";

pub(crate) const TOOL: ToolSpec = changing(
    (
        NAME,
        "Start a launch run from a GitHub repository",
        "As `launch_start_run`, with the configuration that the repository itself tells: its family and platform are inferred from its \
         name, manifests and README. A repository that is not indexed is fetched and indexed if you may index it.",
    ),
    // Without a key, each call starts another run.
    Effects { idempotent: false, ..Effects::FETCHES },
    schema::generate_schema::<Input>,
    schema::generate_output_schema::<Output>,
    |call, arguments| run_typed(call, arguments, start_run),
);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Address of the repository: `https://github.com/OWNER/NAME`.
    #[schemars(length(min = 1, max = 2000))]
    github_repo_url: String,
    /// Starts one run only, however often it is sent.
    #[schemars(length(min = 1, max = 200))]
    idempotency_key: Option<String>,
    /// The operator's name of the site; default: the only site of the project.
    #[schemars(length(min = 1, max = 64))]
    site_profile: Option<String>,
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    /// Id of the run.
    run_id: String,
    /// Its state now.
    state: RunState,
    /// Whether a call with the same key and configuration started it before.
    existing: bool,
    /// What the address and the repository told.
    derived_config: DerivedConfig,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DerivedConfig {
    /// Family of products.
    family: String,
    /// Platform of the product.
    target_platform: Platform,
    /// Languages of the pages.
    locales: Vec<String>,
    /// Where the site keeps the pages of a platform.
    layout_mode: LayoutMode,
    /// Always false: statements without evidence are never written.
    allow_inference: bool,
    /// Address of the repository.
    github_repo_url: String,
    /// The commit of it.
    github_ref: String,
}

async fn start_run(call: Call, input: Input) -> Result<Output, Fault> {
    let github = GithubRepository::parse(&input.github_repo_url)?;
    let project_id = input.project_id.as_deref();
    let id = call.allowed_project(project_id).await?;
    let site = choose_site(&call.app.config.launch.sites, &id, input.site_profile.as_deref())?;
    let known = call.project_if_any(project_id).await?;
    let look = find_or_fetch(&call, known.as_ref(), project_id, &github);
    let found = with_progress(&call, "The repository is being read", look).await?;
    let DescribedRepository { repository, named, commit, metadata } = found;
    let inference = infer(&metadata);
    let (family, target_platform) = require_decided(&inference)?;
    let product = KnownProduct {
        family: family.clone(),
        product_name: inference.product_name,
        platform: target_platform,
        locale: LOCALE_DEFAULT.to_owned(),
        repository: named.clone(),
        commit: commit.clone(),
    };
    let config = derived_config(product, site, sections_of_site(site, Section::Docs));
    // Only now: a call that is refused leaves no workspace behind.
    let project = match known {
        Some(project) => project,
        None => call.project_for_writing(project_id).await?,
    };
    let key = input.idempotency_key.as_deref();
    let StartedRun { run_id, state, existing } =
        start(&call, NAME, &project, config, Some(repository), key).await?;
    let derived_config = DerivedConfig {
        family,
        target_platform,
        locales: vec![LOCALE_DEFAULT.to_owned()],
        layout_mode: LayoutMode::Auto,
        allow_inference: false,
        github_repo_url: named,
        github_ref: commit,
    };
    Ok(Output { run_id, state, existing, derived_config })
}

/// The repository of the project or, if it has none with this address, one that is fetched.
async fn find_or_fetch(
    call: &Call,
    project: Option<&Project>,
    project_id: Option<&str>,
    github: &GithubRepository,
) -> Result<DescribedRepository, Fault> {
    if let Some(project) = project
        && let Some(found) = runs::indexed_repository(&call.app, project, github).await?
    {
        return Ok(found);
    }
    // Indexing a new repository needs more rights than starting a run.
    let allowed = match call.caller.principal.has_scope(Scope::Index) {
        true => Some(indexable_roots(call, project_id).await?),
        false => None,
    };
    runs::fetched_repository(&call.app, project, allowed, github, &call.cancel).await
}
