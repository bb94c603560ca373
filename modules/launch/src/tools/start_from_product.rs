//! `launch_start_run_from_product_url`: starts a run from the address of a page of a product.

use launch::addresses::{ProductPage, product_hosts};
use launch::config::Platform;
use launch::infer::infer;
use launch::quickstart::{KnownProduct, choose_site, derived_config, sections_of_site};
use launch::state::RunState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::run_call::with_progress;
use super::spec::changing;
use super::starting::start;
use crate::runs::{self as runs, DescribedRepository, StartedRun};
use contract::Fault;
use gate::tools::for_modules::ProjectIdArg;
use gate::tools::for_modules::run_typed;
use gate::tools::{Call, Effects, ToolSpec, schema};

/// Name of the tool.
const NAME: &str = "launch_start_run_from_product_url";

pub(crate) const TOOL: ToolSpec = ToolSpec {
    aliases: &["launch_start_run_from_url"],
    ..changing(
        (
            NAME,
            "Start a launch run from a product page",
            "As `launch_start_run`, with the configuration that the address of a product page tells: product, language and platform. The \
             address is read and not called; the repository is the indexed one that is for this product and platform.",
        ),
        // Without a key, each call starts another run.
        Effects { idempotent: false, ..Effects::WRITES },
        schema::generate_schema::<Input>,
        schema::generate_output_schema::<Output>,
        |call, arguments| run_typed(call, arguments, start_run),
    )
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Address of a page, such as `https://products.aspose.org/3d/en/python/`.
    #[schemars(length(min = 1, max = 2000))]
    url: String,
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
    /// What the address told.
    derived_config: DerivedConfig,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DerivedConfig {
    /// Host of the page.
    site: String,
    /// The product in paths.
    product_slug: String,
    /// Platform of the product.
    platform: Platform,
    /// Language of the pages.
    locale: String,
}

async fn start_run(call: Call, input: Input) -> Result<Output, Fault> {
    let settings = &call.app.config.launch;
    let page = ProductPage::parse(&input.url, &product_hosts(&settings.product_hosts)?)?;
    let project_id = input.project_id.as_deref();
    let id = call.allowed_project(project_id).await?;
    let site = choose_site(&settings.sites, &id, input.site_profile.as_deref())?;
    let project = call.project(project_id).await?;
    let look = runs::repository_of_product(&call.app, &project, &page);
    let found = with_progress(&call, "The repositories are being read", look).await?;
    let DescribedRepository { repository, named, commit, metadata } = found;
    let product = KnownProduct {
        family: page.product_slug.clone(),
        product_name: infer(&metadata).product_name,
        platform: page.platform,
        locale: page.locale.clone(),
        repository: named,
        commit,
    };
    let config = derived_config(product, site, sections_of_site(site, page.section));
    let key = input.idempotency_key.as_deref();
    let StartedRun { run_id, state, existing } =
        start(&call, NAME, &project, config, Some(repository), key).await?;
    let ProductPage { site, product_slug, platform, locale, .. } = page;
    let derived_config = DerivedConfig { site, product_slug, platform, locale };
    Ok(Output { run_id, state, existing, derived_config })
}
