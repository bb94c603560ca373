//! The worker `validate`: runs the gates over the changes of a run.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::allowed_paths::AllowedPaths;
use crate::claim::{Claim, Claims};
use crate::config::RunConfig;
use crate::evidence::Questions;
use crate::forms::{
    FRONT_MATTER_CONTRACT, FrontMatterContracts, PRODUCT_FACTS, PagePlan, ProductFacts, Read, SITE_CONTEXT,
    SNIPPET_CATALOG, SiteContext, SnippetCatalog, TEMPLATE_LINES, page_plan, read, template_lines,
};
use crate::gate::{self, Artifact, Change, GateInput, RequiredPage, RunInput};
use crate::report::{ValidationReport, stable_json};
use crate::site::{MemoryFiles, Site, SiteLimits};
use crate::worker::{
    NewArtifact, PAGE_PLAN, SiteView, VALIDATE, WorkItem, Worker, WorkerError, WorkerInput, WorkerOutput,
};

/// The worker.
pub static WORKER: Worker = Worker {
    name: VALIDATE,
    version: 4,
    artifacts: &[
        PAGE_PLAN, PRODUCT_FACTS, SNIPPET_CATALOG, FRONT_MATTER_CONTRACT, SITE_CONTEXT, TEMPLATE_LINES,
    ],
    site: SiteView::Patched,
    parses: true,
    asks,
    run,
};

/// The gate whose issues are an artifact of their own.
const TRUTH_LOCK: &str = "truth_lock";
/// That artifact.
const TRUTH_LOCK_REPORT: &str = "truth_lock_report.json";

/// Returns the pages that the run changes, as a site by themselves.
#[must_use]
pub fn changed_pages(item: &WorkItem<'_>) -> Site {
    let files = item.changed.iter().filter_map(|path| Some((path.as_str(), item.site.read(path)?)));
    let files: MemoryFiles = files.collect();
    Site::read(&files, None, &SiteLimits::default())
}

fn asks(item: &WorkItem<'_>) -> Questions {
    let claims = read::<ProductFacts>(item, PRODUCT_FACTS).and_then(|facts| facts.form);
    let claims = claims.map(|facts| claims_of(facts.claims, item));
    Questions::new(&changed_pages(item), item.snippets, claims.as_ref())
}

fn run(input: &WorkerInput<'_>) -> Result<WorkerOutput, WorkerError> {
    let item = &input.item;
    let plan = page_plan(item).ok_or_else(|| WorkerError::missing(VALIDATE, PAGE_PLAN))?;
    let artifacts = Artifacts {
        plan,
        facts: read(item, PRODUCT_FACTS),
        catalog: read(item, SNIPPET_CATALOG),
        contracts: read(item, FRONT_MATTER_CONTRACT),
        context: read(item, SITE_CONTEXT),
    };
    let report = artifacts.check(input)?;
    Ok(WorkerOutput {
        artifacts: vec![NewArtifact::json(
            TRUTH_LOCK_REPORT,
            "truth_lock_report",
            truth_lock_report(&report),
        )],
        report: Some(report),
        ..WorkerOutput::default()
    })
}

/// The artifacts of a run that the gates need.
struct Artifacts {
    plan: Read<PagePlan>,
    facts: Option<Read<ProductFacts>>,
    catalog: Option<Read<SnippetCatalog>>,
    contracts: Option<Read<FrontMatterContracts>>,
    context: Option<Read<SiteContext>>,
}

impl Artifacts {
    fn check(&self, input: &WorkerInput<'_>) -> Result<ValidationReport, WorkerError> {
        let (item, config) = (&input.item, input.item.config);
        let allowed_paths = AllowedPaths::new(&config.allowed_paths).map_err(|(path, problem)| {
            let message = format!("The allowed path `{path}` {problem}.");
            WorkerError::new("ALLOWED_PATHS_VIOLATION", message)
        })?;
        let facts = form(self.facts.as_ref());
        let claims = facts.map(|facts| claims_of(facts.claims.clone(), item));
        let context = form(self.context.as_ref());
        let layout = context.and_then(|context| context.layout(&config.locales));
        let snippet_hashes: BTreeSet<String> = form(self.catalog.as_ref())
            .map(|catalog| catalog.snippets.iter().map(|snippet| snippet.sha256.clone()).collect())
            .unwrap_or_default();
        let install_commands = facts.map(|facts| facts.install_commands.as_slice()).unwrap_or_default();
        let no_contracts = BTreeMap::new();
        // If the plan cannot be parsed, the gate `schema` reports it.
        let no_sections = BTreeSet::new();
        let required_sections = self.plan.form.as_ref().map_or(&no_sections, |_| &config.required_sections);
        let site = Site::read(item.site, None, &SiteLimits::default());
        let run = RunInput {
            product_name: &config.product_name,
            repository_url: repository_url(config, facts),
            changes: &changes(item, &site),
            allowed_paths: &allowed_paths,
            budgets: config.budgets,
            required_sections,
            pages: &planned(self.plan.form.as_ref()),
            kept: self.plan.form.as_ref().map(|plan| plan.kept.as_slice()).unwrap_or_default(),
            layout: layout.as_ref(),
            contracts: form(self.contracts.as_ref()).map_or(&no_contracts, |contracts| &contracts.sections),
            snippet_hashes: &snippet_hashes,
            install_commands,
            artifacts: &self.with_schemas(),
            observed: input.observed,
        };
        Ok(gate::check(&GateInput {
            site: &site,
            snippets: item.snippets,
            evidence: Ok(input.evidence),
            claims: claims.as_ref(),
            run: Some(&run),
            secrets: input.secrets,
            profile: config.validation_profile,
        }))
    }

    fn with_schemas(&self) -> Vec<Artifact<'_>> {
        let others = [
            self.facts.as_ref().map(as_artifact),
            self.catalog.as_ref().map(as_artifact),
            self.contracts.as_ref().map(as_artifact),
            self.context.as_ref().map(as_artifact),
        ];
        std::iter::once(as_artifact(&self.plan)).chain(others.into_iter().flatten()).collect()
    }
}

fn as_artifact<T>(read: &Read<T>) -> Artifact<'_> {
    Artifact { name: read.name, schema: &read.schema, content: &read.content }
}

fn form<T>(read: Option<&Read<T>>) -> Option<&T> {
    read.and_then(|read| read.form.as_ref())
}

fn claims_of(claims: Vec<Claim>, item: &WorkItem<'_>) -> Claims {
    Claims {
        by_id: claims.into_iter().map(|claim| (claim.claim_id.clone(), claim)).collect(),
        template_lines: template_lines(item),
        product_name: Some(item.config.product_name.clone()),
    }
}

/// Returns the address of the repository: that of the evidence, or else of the configuration, which may have a name or a path instead.
fn repository_url<'a>(config: &'a RunConfig, facts: Option<&'a ProductFacts>) -> &'a str {
    facts.and_then(|facts| facts.repository_url.as_deref()).unwrap_or(&config.github_repo_url)
}

fn planned(plan: Option<&PagePlan>) -> Vec<RequiredPage> {
    let pages = plan.into_iter().flat_map(|plan| &plan.pages);
    pages
        .map(|page| RequiredPage {
            section: page.section,
            path: page.output_path.clone(),
            required_headings: page.required_headings.clone(),
        })
        .collect()
}

fn changes(item: &WorkItem<'_>, site: &Site) -> Vec<Change> {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let change = |path: &String| {
        let read = || item.site.read(path).map(text);
        let after = site.page(path).map(|page| page.text.clone()).or_else(read);
        Change {
            path: path.clone(),
            before: item.base.read(path).map(text),
            after: after.unwrap_or_default(),
        }
    };
    item.changed.iter().map(change).collect()
}

/// Returns the part of the report from the gate that ties every statement to the repository.
fn truth_lock_report(report: &ValidationReport) -> String {
    let outcome = report.gates.iter().find(|outcome| outcome.gate == TRUTH_LOCK);
    let issues: Vec<_> = report.issues.iter().filter(|issue| issue.gate == TRUTH_LOCK).collect();
    let content: Value =
        json!({ "schema_version": report.schema_version, "outcome": outcome, "issues": issues });
    stable_json(&content)
}

#[cfg(test)]
mod tests;
