//! The parts of artifacts that others than their writer read. What an artifact has beyond them is its writer's.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::claim::Claim;
use crate::config::Section;
use crate::gate::{FrontMatterContract, Layout, SectionFolder};
use crate::worker::{PAGE_PLAN, WorkItem};

/// Where the site keeps its pages.
pub const SITE_CONTEXT: &str = "site_context.json";
/// What the front matter of each section has.
pub const FRONT_MATTER_CONTRACT: &str = "frontmatter_contract.json";
/// The claims with their evidence.
pub const PRODUCT_FACTS: &str = "product_facts.json";
/// The snippets that pages may show.
pub const SNIPPET_CATALOG: &str = "snippet_catalog.json";
/// Folder of the lines that templates wrote, one artifact a section or fix.
pub const TEMPLATE_LINES: &str = "template_lines/";

/// The artifact [`SITE_CONTEXT`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SiteContext {
    /// The folders of the sections; empty if the site has no such order.
    pub folders: Vec<Folder>,
}

/// The folder of a section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Folder {
    /// The section.
    pub section: Section,
    /// The folder of the product's family.
    pub folder: String,
    /// The folder of the platform, below that of the language.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
}

/// The artifact [`FRONT_MATTER_CONTRACT`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrontMatterContracts {
    /// By section.
    pub sections: BTreeMap<Section, FrontMatterContract>,
}

/// The artifact [`PRODUCT_FACTS`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProductFacts {
    /// Address of the repository, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository_url: Option<String>,
    /// The claims.
    pub claims: Vec<Claim>,
    /// Commands that install the product.
    #[serde(default)]
    pub install_commands: Vec<String>,
}

/// The artifact [`SNIPPET_CATALOG`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnippetCatalog {
    /// The snippets.
    pub snippets: Vec<CatalogSnippet>,
}

/// A snippet that pages may show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CatalogSnippet {
    /// [`span_sha256`](crate::claim::span_sha256) of its code.
    pub sha256: String,
}

/// The artifact [`PAGE_PLAN`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PagePlan {
    /// The pages.
    pub pages: Vec<PlanPage>,
}

/// A planned page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanPage {
    /// Its section.
    pub section: Section,
    /// Its path in the site.
    pub output_path: String,
    /// Headings that it must have.
    #[serde(default)]
    pub required_headings: Vec<String>,
}

/// An artifact below [`TEMPLATE_LINES`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TemplateLines {
    /// [`line_sha256`](crate::claim::line_sha256) of the lines.
    pub lines: BTreeSet<String>,
}

impl SiteContext {
    /// The layout for pages in these languages; `None` if the site has no such order.
    #[must_use]
    pub fn layout(&self, locales: &[String]) -> Option<Layout> {
        let folders = self.folders.iter().map(|one| SectionFolder {
            section: one.section,
            folder: one.folder.clone(),
            platform: one.platform.clone(),
        });
        (!self.folders.is_empty()).then(|| Layout { folders: folders.collect(), locales: locales.to_vec() })
    }
}

/// An artifact that was read: as JSON with its schema, and in its form, unless it does not fit it.
pub struct Read<T> {
    /// Its name.
    pub name: &'static str,
    /// What it is as JSON; null if it is none.
    pub content: Value,
    /// The schema of the form.
    pub schema: Value,
    /// The artifact.
    pub form: Option<T>,
}

/// Reads an artifact of an item; `None` if there is none.
#[must_use]
pub fn read<T: DeserializeOwned + JsonSchema>(item: &WorkItem<'_>, name: &'static str) -> Option<Read<T>> {
    let bytes = item.artifacts.get(name)?;
    let content: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let form = serde_json::from_value(content.clone()).ok();
    Some(Read { name, content, schema: schemars::schema_for!(T).to_value(), form })
}

/// The lines that templates wrote, of all artifacts of an item.
#[must_use]
pub fn template_lines(item: &WorkItem<'_>) -> BTreeSet<String> {
    let artifacts = item.artifacts.iter().filter(|(name, _)| name.starts_with(TEMPLATE_LINES));
    let forms = artifacts.filter_map(|(_, bytes)| serde_json::from_slice::<TemplateLines>(bytes).ok());
    forms.flat_map(|form| form.lines).collect()
}

/// The plan of an item.
#[must_use]
pub fn page_plan(item: &WorkItem<'_>) -> Option<Read<PagePlan>> {
    read(item, PAGE_PLAN)
}
