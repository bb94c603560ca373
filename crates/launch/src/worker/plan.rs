//! The worker `plan`: decides which pages are written, where, and which claims and snippets they consist of.

mod blocks;
mod paths;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use self::blocks::Material;
use self::paths::output_path;
use super::trial::Trial;
use super::{
    NewArtifact, PAGE_PLAN, PLAN, SiteView, WorkItem, Worker, WorkerError, WorkerInput, WorkerOutput,
};
use crate::claim::Claim;
use crate::config::{LaunchTier, RunConfig, Section};
use crate::evidence::Questions;
use crate::forms::{
    FRONT_MATTER_CONTRACT, FrontMatterContracts, PRODUCT_FACTS, PagePlan, PlanBlock, PlanItem, PlanPage,
    ProductFacts, SITE_CONTEXT, SNIPPET_CATALOG, SiteContext, SnippetCatalog, optional, required,
};
use crate::prose::{self, DESCRIPTION_KEYS};
use crate::published::{KeptPage, PUBLISHED_PAGES, PublishedPages, marks_of, reason_to_keep};
use crate::render::ruleset::{self, PageRule, SECURITY_HEADING, SECURITY_LINE, Source, quota};
use crate::render::{FieldsOfPage, escaped, fields, kept_fields, spelt};
use crate::report::stable_json;
use crate::site::{FrontMatter, Page};

/// The worker.
pub static WORKER: Worker = Worker {
    name: PLAN,
    version: 4,
    artifacts: &[PRODUCT_FACTS, SNIPPET_CATALOG, FRONT_MATTER_CONTRACT, SITE_CONTEXT, PUBLISHED_PAGES],
    site: SiteView::Base,
    parses: false,
    asks,
    run,
};

/// Code of the error of a run whose pages cannot be planned.
const PLAN_INCOMPLETE: &str = "PLAN_INCOMPLETE";

fn trial_of(item: &WorkItem<'_>, facts: &ProductFacts) -> Trial {
    let name = &item.config.product_name;
    Trial::new(facts.claims.iter().map(|claim| escaped(&spelt(&claim.text, name))))
}

fn asks(item: &WorkItem<'_>) -> Questions {
    let facts = required::<ProductFacts>(item, PLAN, PRODUCT_FACTS);
    facts.map(|facts| Questions::new(&trial_of(item, &facts).site(), &[], None)).unwrap_or_default()
}

fn run(input: &WorkerInput<'_>) -> Result<WorkerOutput, WorkerError> {
    let item = &input.item;
    let facts: ProductFacts = required(item, PLAN, PRODUCT_FACTS)?;
    let catalog: SnippetCatalog = required(item, PLAN, SNIPPET_CATALOG)?;
    let verdicts = trial_of(item, &facts).verdicts(input, &[]);
    let (mut usable, mut risky) = (BTreeSet::new(), BTreeSet::new());
    for (claim, verdict) in facts.claims.iter().zip(verdicts) {
        if claim.replaced_by.is_none() && verdict.problems.is_empty() {
            usable.insert(claim.claim_id.as_str());
        }
        if verdict.is_risky {
            risky.insert(claim.claim_id.as_str());
        }
    }
    let published: Option<PublishedPages> = optional(item, PUBLISHED_PAGES)?;
    let planner = Planner {
        item,
        existing: item.site.paths(),
        published: published.unwrap_or_default(),
        config: item.config,
        context: required(item, PLAN, SITE_CONTEXT)?,
        contracts: required(item, PLAN, FRONT_MATTER_CONTRACT)?,
        material: Material::new(&facts, &catalog, &usable, quota(item.config.launch_tier)),
        facts: &facts,
        risky: &risky,
    };
    let plan = planner.plan()?;
    let artifact = NewArtifact::json(PAGE_PLAN, "page_plan", stable_json(&plan));
    Ok(WorkerOutput { artifacts: vec![artifact], ..WorkerOutput::default() })
}

struct Planner<'a> {
    item: &'a WorkItem<'a>,
    /// Paths of the site.
    existing: Vec<String>,
    published: PublishedPages,
    config: &'a RunConfig,
    context: SiteContext,
    contracts: FrontMatterContracts,
    material: Material<'a>,
    facts: &'a ProductFacts,
    /// Claims that name an operation with a risk.
    risky: &'a BTreeSet<&'a str>,
}

impl Planner<'_> {
    fn plan(&self) -> Result<PagePlan, WorkerError> {
        let rules = ruleset::PAGES.iter().filter(|rule| {
            self.config.required_sections.contains(&rule.section) && rule.tier <= self.config.launch_tier
        });
        let mut pages: Vec<(&PageRule, PlanPage)> =
            rules.filter_map(|rule| Some((rule, self.page(rule)?))).collect();
        for section in &self.config.required_sections {
            if !pages.iter().any(|(rule, _)| rule.section == *section) {
                let message = format!(
                    "The repository says nothing that a page of the section `{}` could repeat.",
                    section.as_str()
                );
                return Err(WorkerError::new(PLAN_INCOMPLETE, message));
            }
        }
        // If the budget is small, pages that the tier `minimal` lacks are omitted, the last one first.
        let most = usize::try_from(self.config.budgets.max_files_changed).unwrap_or(usize::MAX);
        while pages.len() > most
            && let Some(at) = pages.iter().rposition(|(rule, _)| rule.tier != LaunchTier::Minimal)
        {
            pages.remove(at);
        }
        // So are pages with a required front matter key without a known value, except for the only page of a section.
        while let Some(at) = pages.iter().rposition(|(rule, page)| {
            let of_section = pages.iter().filter(|(other, _)| other.section == rule.section).count();
            rule.tier != LaunchTier::Minimal && of_section > 1 && self.front_matter(page, 1).is_err()
        }) {
            pages.remove(at);
        }
        let (mut plan, positions) = self.without_kept(pages.into_iter().map(|(_, page)| page));
        add_links(&mut plan);
        for (page, position) in plan.pages.iter_mut().zip(positions) {
            self.finish(page, position)?;
        }
        Ok(plan)
    }

    /// Returns the pages without those that people own, and the place of each in its section.
    fn without_kept(&self, pages: impl Iterator<Item = PlanPage>) -> (PagePlan, Vec<u32>) {
        let (mut plan, mut positions) = (PagePlan::default(), Vec::new());
        let (mut position, mut section) = (0, None);
        for page in pages {
            position = if section == Some(page.section) { position + 1 } else { 1 };
            section = Some(page.section);
            match reason_to_keep(self.item.site, &self.existing, &self.published, &page.output_path) {
                Some((reason, other)) => plan.kept.push(KeptPage {
                    unsaid: self.unsaid(other.as_deref().unwrap_or(&page.output_path)),
                    section: page.section,
                    output_path: page.output_path,
                    title: page.title,
                    reason,
                    other,
                }),
                None => {
                    plan.pages.push(page);
                    positions.push(position);
                }
            }
        }
        (plan, positions)
    }

    /// Counts the sentences of a page that have the mark of a claim which the run does not make.
    fn unsaid(&self, path: &str) -> usize {
        let Some(text) = self.item.site_text(path) else { return 0 };
        let (ids, _) = marks_of(path, &text);
        ids.iter().filter(|id| self.claim(id).is_none()).count()
    }

    /// Returns a page without its links; `None` if it would be empty.
    fn page(&self, rule: &PageRule) -> Option<PlanPage> {
        let mut used = BTreeSet::new();
        let mut planned: Vec<PlanBlock> = Vec::new();
        let mut has_content = false;
        for block in rule.blocks.iter().filter(|block| block.source != Source::Links) {
            let made = self.material.blocks(block, &mut used);
            // These accompany other content; alone they do not make a page.
            has_content |= !matches!(block.source, Source::Licence | Source::Limitations)
                && made.iter().any(|block| !block.items.is_empty());
            planned.extend(made);
        }
        if !has_content {
            return None;
        }
        if used.iter().any(|id| self.risky.contains(id.as_str())) {
            let line = PlanItem::Line { text: SECURITY_LINE.to_owned() };
            planned.push(titled(SECURITY_HEADING, vec![line]));
        }
        Some(PlanPage {
            section: rule.section,
            output_path: output_path(rule, &self.context, self.config),
            required_headings: Vec::new(),
            title: rule.title.replace("{name}", &self.config.product_name),
            format: None,
            front_matter: BTreeMap::new(),
            blocks: planned,
        })
    }

    /// Cuts a page to its budget, and adds the parts that follow from its blocks.
    fn finish(&self, page: &mut PlanPage, position: u32) -> Result<(), WorkerError> {
        let most = usize::try_from(self.config.budgets.max_lines_per_file).unwrap_or(usize::MAX);
        blocks::cut(page, most, &self.material);
        let headings = page.blocks.iter().filter(|block| !block.is_code);
        page.required_headings = headings.map(|block| block.heading.clone()).collect();
        let now = self.item.site_text(&page.output_path).map(|text| Page::parse(&page.output_path, text, 1));
        let now = now.as_ref().map(|page| &page.front_matter);
        page.front_matter = self.front_matter(page, position)?;
        page.format = self.contracts.styles.get(&page.section).and_then(|style| style.format);
        if let Some(FrontMatter::Fields { format, fields }) = now {
            let description = self.description(page, fields);
            page.format = Some(*format);
            page.front_matter =
                kept_fields(std::mem::take(&mut page.front_matter), fields, page, description);
        }
        Ok(())
    }

    /// The front matter of a page at a position of its section.
    fn front_matter(&self, page: &PlanPage, position: u32) -> Result<BTreeMap<String, Value>, WorkerError> {
        let contract = self.contracts.sections.get(&page.section).cloned().unwrap_or_default();
        let style = self.contracts.styles.get(&page.section).cloned().unwrap_or_default();
        let description = self.descriptions(page).next();
        let of_page = FieldsOfPage { title: &page.title, description: description.as_deref(), position };
        fields(&contract, &style, of_page).map_err(|key| unknown_key(page.section, &key))
    }

    /// The claims of a page that can describe it, in their order.
    fn descriptions(&self, page: &PlanPage) -> impl Iterator<Item = String> {
        let claims = page.blocks.iter().flat_map(|block| &block.items).filter_map(|item| match item {
            PlanItem::Paragraph { claim_id } | PlanItem::Entry { claim_id } => self.claim(claim_id),
            _ => None,
        });
        claims.filter_map(|claim| prose::description(&spelt(&claim.text, &self.config.product_name)))
    }

    /// Returns the description of a page that has one: unchanged as long as the page makes its claim.
    fn description(&self, page: &PlanPage, now: &Map<String, Value>) -> Option<String> {
        let is_said = |text: &String| {
            DESCRIPTION_KEYS.iter().any(|key| now.get(*key).is_some_and(|value| value == text))
        };
        self.descriptions(page).find(is_said).or_else(|| self.descriptions(page).next())
    }

    fn claim(&self, id: &str) -> Option<&Claim> {
        self.facts.claims.iter().find(|claim| claim.claim_id == id)
    }
}

fn unknown_key(section: Section, key: &str) -> WorkerError {
    let message = format!(
        "Pages of the section `{}` must have `{key}` in their front matter, and its value is not known.",
        section.as_str()
    );
    WorkerError::new(PLAN_INCOMPLETE, message)
}

fn titled(heading: &str, items: Vec<PlanItem>) -> PlanBlock {
    PlanBlock { level: 2, heading: heading.to_owned(), is_code: false, items }
}

/// Adds to each page the links to all others.
fn add_links(plan: &mut PagePlan) {
    // A page that people edited is still there.
    let there = plan.kept.iter().filter(|kept| kept.reason.is_there());
    let there = there.map(|kept| (kept.title.clone(), kept.output_path.clone()));
    let all: Vec<(String, String)> =
        plan.pages.iter().map(|page| (page.title.clone(), page.output_path.clone())).chain(there).collect();
    for page in &mut plan.pages {
        let others = all.iter().filter(|(_, path)| *path != page.output_path);
        let links: Vec<PlanItem> =
            others.map(|(title, path)| PlanItem::Link { title: title.clone(), path: path.clone() }).collect();
        if !links.is_empty() {
            page.blocks.push(titled("See also", links));
        }
    }
}

#[cfg(test)]
mod tests;
