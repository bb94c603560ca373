//! The parts of artifacts that are read by others than their writer. Everything else in an artifact is private to its writer.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::claim::Claim;
use crate::config::Section;
use crate::freshness::ShownLines;
use crate::gate::{FrontMatterContract, Layout, SectionFolder};
use crate::published::KeptPage;
use crate::site::FrontMatterFormat;
use crate::worker::{PAGE_PLAN, WorkItem, WorkerError};

/// The inventory of the repository.
pub const REPO_INVENTORY: &str = "repo_inventory.json";
/// The folders in which the site keeps its pages.
pub const SITE_CONTEXT: &str = "site_context.json";
/// The front matter that each section has.
pub const FRONT_MATTER_CONTRACT: &str = "frontmatter_contract.json";
/// The claims with their evidence.
pub const PRODUCT_FACTS: &str = "product_facts.json";
/// The other places in the repository that support each claim, and the claims that contradict each other.
pub const EVIDENCE_MAP: &str = "evidence_map.json";
/// The lines that claims cite, for people who later ask for their original text.
pub const CITED_LINES: &str = "cited_lines.json";
/// Code that may become a snippet.
pub const SNIPPET_CANDIDATES: &str = "snippet_candidates.json";
/// Folder of the written pages: `drafts/SECTION/FILE`.
pub const DRAFTS: &str = "drafts/";
/// The patches of the site.
pub const PATCH_BUNDLE: &str = "patch_bundle.json";
/// The snippets that pages may show.
pub const SNIPPET_CATALOG: &str = "snippet_catalog.json";
/// Folder of the lines that templates wrote, one artifact a section or fix.
pub const TEMPLATE_LINES: &str = "template_lines/";

/// The artifact [`REPO_INVENTORY`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepoInventory {
    /// Number of indexed files, those among them that are not listed too.
    pub files_total: u32,
    /// Indexed files, sorted by path.
    pub files: Vec<InventoryFile>,
    /// Files with prose, the README first.
    pub documents: Vec<String>,
    /// Files that show how the product is used.
    pub examples: Vec<String>,
    /// Files with definitions for others, sorted.
    pub definitions: Vec<String>,
    /// Manifests of packages.
    pub manifests: Vec<String>,
    /// SPDX expression of the licence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
}

/// A file of the repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InventoryFile {
    /// Its path.
    pub path: String,
    /// Id of its language.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
}

/// The artifact [`SITE_CONTEXT`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SiteContext {
    /// The folders of the sections; empty if the site has no such order.
    pub folders: Vec<Folder>,
    /// The folder in which each section gets its pages.
    #[serde(default)]
    pub roots: BTreeMap<Section, String>,
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
    /// How the pages of each section are written.
    #[serde(default)]
    pub styles: BTreeMap<Section, FrontMatterStyle>,
}

/// How pages write their front matter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrontMatterStyle {
    /// How it is written; `None` if the pages have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<FrontMatterFormat>,
    /// Values that all pages share.
    #[serde(default)]
    pub shared: BTreeMap<String, Value>,
    /// The day of the site's commit, the date of new pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
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
    /// Id of the claim that names the licence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub licence_claim: Option<String>,
}

/// The artifact [`CITED_LINES`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CitedLines {
    /// The lines of the first citation of a claim, by its id; not all of many.
    pub claims: BTreeMap<String, ShownLines>,
}

/// The artifact [`SNIPPET_CANDIDATES`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnippetCandidates {
    /// The candidates, the best first.
    pub candidates: Vec<CatalogSnippet>,
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
    /// Path of the file that has it.
    #[serde(default)]
    pub path: String,
    /// Its first line there, 1-based.
    #[serde(default)]
    pub start_line: u32,
    /// Its language, as it stands behind the fence.
    #[serde(default)]
    pub language: String,
    /// The code.
    #[serde(default)]
    pub code: String,
}

/// The artifact [`PAGE_PLAN`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PagePlan {
    /// The pages.
    pub pages: Vec<PlanPage>,
    /// Pages that are not written, because what is there is people's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<KeptPage>,
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
    /// Its title.
    #[serde(default)]
    pub title: String,
    /// How its front matter is written; `None` if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<FrontMatterFormat>,
    /// Its front matter.
    #[serde(default)]
    pub front_matter: BTreeMap<String, Value>,
    /// What it consists of.
    #[serde(default)]
    pub blocks: Vec<PlanBlock>,
}

/// A part of a planned page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanBlock {
    /// Level of its heading.
    pub level: u8,
    /// Its heading, as it is shown.
    pub heading: String,
    /// Whether the heading is a name of code.
    #[serde(default)]
    pub is_code: bool,
    /// What stands below.
    pub items: Vec<PlanItem>,
}

/// Something that stands below a heading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PlanItem {
    /// A claim as a paragraph.
    Paragraph {
        /// The claim.
        claim_id: String,
    },
    /// A claim as an item of a list.
    Entry {
        /// The claim.
        claim_id: String,
    },
    /// A snippet of the catalog.
    Snippet {
        /// Its hash.
        sha256: String,
    },
    /// A command for a shell.
    Command {
        /// The command.
        text: String,
    },
    /// A link to another planned page.
    Link {
        /// Its title.
        title: String,
        /// Its path in the site.
        path: String,
    },
    /// A line of a template.
    Line {
        /// The line.
        text: String,
    },
}

/// An artifact below [`TEMPLATE_LINES`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TemplateLines {
    /// [`line_sha256`](crate::claim::line_sha256) of the lines.
    pub lines: BTreeSet<String>,
}

impl PlanPage {
    /// Its name within its folder.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.output_path.rsplit('/').next().unwrap_or(&self.output_path)
    }

    /// Name of the artifact with its draft.
    #[must_use]
    pub fn draft(&self) -> String {
        format!("{DRAFTS}{}/{}", self.section.as_str(), self.file_name())
    }
}

impl SiteContext {
    /// Returns the layout for pages in these languages; `None` if the site has no folders for sections.
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

/// An artifact that was read: as JSON with its schema, and parsed into its form if it fits.
pub struct Read<T> {
    /// Its name.
    pub name: &'static str,
    /// Its content as JSON; null if it is not valid JSON.
    pub content: Value,
    /// The schema of the form.
    pub schema: Value,
    /// The artifact.
    pub form: Option<T>,
}

/// Reads an artifact of an item; `None` if it is missing.
#[must_use]
pub fn read<T: DeserializeOwned + JsonSchema>(item: &WorkItem<'_>, name: &'static str) -> Option<Read<T>> {
    let bytes = item.artifacts.get(name)?;
    let content: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let form = serde_json::from_value(content.clone()).ok();
    Some(Read { name, content, schema: schemars::schema_for!(T).to_value(), form })
}

/// Reads an artifact that a worker needs.
///
/// # Errors
/// `…_MISSING_INPUT` if it is missing, `MALFORMED_ARTIFACT` if it does not have its form.
pub fn required<T: DeserializeOwned>(
    item: &WorkItem<'_>,
    worker: &str,
    name: &str,
) -> Result<T, WorkerError> {
    let bytes = item.artifacts.get(name).ok_or_else(|| WorkerError::missing(worker, name))?;
    serde_json::from_slice(bytes)
        .map_err(|error| WorkerError::new("MALFORMED_ARTIFACT", format!("`{name}` cannot be read: {error}.")))
}

/// Reads an artifact that a run of an older program may lack.
///
/// # Errors
/// `MALFORMED_ARTIFACT` if it does not have its form.
pub fn optional<T: DeserializeOwned>(item: &WorkItem<'_>, name: &str) -> Result<Option<T>, WorkerError> {
    if item.artifacts.contains_key(name) { required(item, "", name).map(Some) } else { Ok(None) }
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
