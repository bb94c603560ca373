//! The worker `write`: writes the pages of one section as the plan says.

use std::collections::BTreeMap;

use super::{
    NewArtifact, PAGE_PLAN, SiteView, WRITE, WorkItem, Worker, WorkerError, WorkerInput, WorkerOutput,
};
use crate::claim::Claim;
use crate::evidence::Questions;
use crate::forms::{
    CatalogSnippet, PRODUCT_FACTS, PagePlan, ProductFacts, SNIPPET_CATALOG, SnippetCatalog, TEMPLATE_LINES,
    TemplateLines, required,
};
use crate::render::{self, Sources};
use crate::report::stable_json;

/// The worker.
pub static WORKER: Worker = Worker {
    name: WRITE,
    version: 3,
    artifacts: &[PAGE_PLAN, PRODUCT_FACTS, SNIPPET_CATALOG],
    site: SiteView::Base,
    parses: false,
    asks: |_| Questions::default(),
    run,
};

/// Owned claims and snippets that plans refer to, for [`Sources`].
pub(super) struct OwnedSources {
    claims: BTreeMap<String, Claim>,
    snippets: BTreeMap<String, CatalogSnippet>,
    product_name: String,
}

impl OwnedSources {
    pub(super) fn new(item: &WorkItem<'_>, facts: ProductFacts, catalog: SnippetCatalog) -> Self {
        let claims = facts.claims.into_iter().map(|claim| (claim.claim_id.clone(), claim));
        let snippets = catalog.snippets.into_iter().map(|snippet| (snippet.sha256.clone(), snippet));
        Self {
            claims: claims.collect(),
            snippets: snippets.collect(),
            product_name: item.config.product_name.clone(),
        }
    }

    pub(super) fn borrowed(&self) -> Sources<'_> {
        Sources { claims: &self.claims, snippets: &self.snippets, product_name: &self.product_name }
    }
}

fn run(input: &WorkerInput<'_>) -> Result<WorkerOutput, WorkerError> {
    let item = &input.item;
    let plan: PagePlan = required(item, WRITE, PAGE_PLAN)?;
    let facts = required(item, WRITE, PRODUCT_FACTS)?;
    let sources = OwnedSources::new(item, facts, required(item, WRITE, SNIPPET_CATALOG)?);
    let mut lines = TemplateLines::default();
    let mut artifacts = Vec::new();
    for page in plan.pages.iter().filter(|page| page.section.as_str() == item.scope_key) {
        let written = render::page(page, &sources.borrowed()).map_err(|missing| {
            let message =
                format!("The plan of `{}` refers to {}, which is not there.", page.title, missing.0);
            WorkerError::new("PLAN_REFERS_TO_NOTHING", message)
        })?;
        lines.lines.extend(written.template_lines);
        artifacts.push(NewArtifact::markdown(page.draft(), written.text));
    }
    let name = format!("{TEMPLATE_LINES}{}.json", item.scope_key);
    artifacts.push(NewArtifact::json(name, "template_lines", stable_json(&lines)));
    Ok(WorkerOutput { artifacts, ..WorkerOutput::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::marker;
    use crate::worker::scene::Scene;
    use crate::worker::{facts, plan, scout, snippets};

    #[test]
    fn each_page_of_a_section_is_a_draft() {
        let mut scene = Scene::new();
        for worker in [&scout::WORKER, &facts::WORKER, &snippets::WORKER, &plan::WORKER] {
            scene.run(worker, "").unwrap();
        }
        let output = scene.run(&WORKER, "docs").unwrap();
        let names: Vec<&str> = output.artifacts.iter().map(|artifact| artifact.name.as_str()).collect();
        assert_eq!(names, ["drafts/docs/getting-started.md", "template_lines/docs.json"]);
        let page = String::from_utf8(output.artifacts[0].bytes.clone()).unwrap();
        let facts: ProductFacts = serde_json::from_value(scene.json(PRODUCT_FACTS)).unwrap();
        let reads = facts.claims.iter().find(|claim| claim.text.starts_with("ShopKit counts")).unwrap();
        assert!(page.starts_with("# Getting started with ShopKit\n\n## Overview\n"), "{page}");
        assert!(
            page.contains(&format!("\nShopKit counts the coins in a drawer. {}\n", marker(&reads.claim_id))),
            "{page}"
        );
        assert!(page.contains("\n```sh\npip install shopkit\n```\n"), "{page}");
        assert!(page.contains("\n```python\nfrom shopkit.cash import drawer\n"), "{page}");
        assert_eq!(scene.run(&WORKER, "docs").unwrap(), output, "again the same");
    }

    #[test]
    fn a_plan_without_its_claims_is_refused() {
        let mut scene = Scene::new();
        scene.link();
        scene.artifacts.insert(PRODUCT_FACTS.to_owned(), b"{ \"claims\": [] }".to_vec());
        assert_eq!(scene.run(&WORKER, "docs").unwrap_err().0.code, "PLAN_REFERS_TO_NOTHING");
        scene.artifacts.remove(PRODUCT_FACTS);
        assert_eq!(scene.run(&WORKER, "docs").unwrap_err().0.code, "WRITE_MISSING_INPUT");
    }
}
