//! The worker `scout`: lists the files of the repository, and finds the folders and the front matter of the site's pages.

use std::collections::BTreeSet;

use super::{NewArtifact, SCOUT, SiteView, WorkItem, Worker, WorkerError, WorkerInput, WorkerOutput};
use crate::coverage::is_for_others;
use crate::evidence::{Evidence, Questions, is_readme};
use crate::forms::{
    FRONT_MATTER_CONTRACT, FrontMatterContracts, InventoryFile, REPO_INVENTORY, RepoInventory, SITE_CONTEXT,
};
use crate::placement::{front_matter_of, site_context};
use crate::report::stable_json;
use crate::site::{Site, SiteLimits, is_page};

/// The worker.
pub static WORKER: Worker =
    Worker { name: SCOUT, version: 1, artifacts: &[], site: SiteView::Base, parses: false, asks, run };

/// Maximum number of files that are listed; the others are counted.
const FILES_MAX: usize = 10_000;
/// Maximum number of files of a kind that later workers read.
const DOCUMENTS_MAX: usize = 200;
const EXAMPLES_MAX: usize = 100;
const DEFINITION_FILES_MAX: usize = 500;

/// Folders whose documents do not describe the current repository.
const OTHER_DOCUMENTS: &[&str] = &[
    "test", "tests", "testdata", "fixtures", "vendor", "third_party", "node_modules", "archive", "rfcs",
    "adr", "blog",
];
/// Beginnings of names of documents about history, people or rights.
const OTHER_NAMES: &[&str] = &[
    "changelog", "changes", "history", "release", "migrat", "upgrad", "contributing", "code_of_conduct",
    "security", "license", "licence", "authors", "maintainers", "governance", "news", "todo",
];

fn asks(_: &WorkItem<'_>) -> Questions {
    Questions::default().with_public_definitions()
}

fn run(input: &WorkerInput<'_>) -> Result<WorkerOutput, WorkerError> {
    let item = &input.item;
    let site = Site::read(item.site, None, &SiteLimits::default());
    let context = site_context(&site, item.config);
    let mut contracts = FrontMatterContracts::default();
    for (section, root) in &context.roots {
        let (contract, mut style) = front_matter_of(&site, root);
        style.date = item.site.date();
        contracts.sections.insert(*section, contract);
        contracts.styles.insert(*section, style);
    }
    let artifacts = vec![
        NewArtifact::json(REPO_INVENTORY, "repo_inventory", stable_json(&inventory(input.evidence))),
        NewArtifact::json(SITE_CONTEXT, "site_context", stable_json(&context)),
        NewArtifact::json(FRONT_MATTER_CONTRACT, "frontmatter_contract", stable_json(&contracts)),
    ];
    Ok(WorkerOutput { artifacts, ..WorkerOutput::default() })
}

fn inventory(evidence: &dyn Evidence) -> RepoInventory {
    let files = evidence.indexed_files();
    let owned = |paths: Vec<&str>| paths.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let mut documents: Vec<&str> = files.iter().copied().filter(|path| is_document(path)).collect();
    // The README describes the whole; documents in deeper folders describe less.
    documents.sort_by_key(|path| (!is_readme(path), path.matches('/').count(), *path));
    documents.truncate(DOCUMENTS_MAX);
    let mut examples: Vec<&str> = files.iter().copied().filter(|path| is_example(path)).collect();
    examples.truncate(EXAMPLES_MAX);
    let definitions: BTreeSet<&str> = evidence
        .public_definitions()
        .iter()
        .filter(|definition| is_for_others(definition))
        .map(|definition| definition.path.as_str())
        .collect();
    let manifests: BTreeSet<&str> =
        evidence.packages().iter().map(|package| package.manifest.as_str()).collect();
    let listed = files.iter().take(FILES_MAX).map(|path| InventoryFile {
        path: (*path).to_owned(),
        language: languages::detect(path, b"").map(|language| language.id.to_owned()),
    });
    RepoInventory {
        files_total: u32::try_from(files.len()).unwrap_or(u32::MAX),
        files: listed.collect(),
        documents: owned(documents),
        examples: owned(examples),
        definitions: owned(definitions.into_iter().take(DEFINITION_FILES_MAX).collect()),
        manifests: owned(manifests.into_iter().collect()),
        licence: evidence.licence().map(|licence| licence.spdx.clone()),
    }
}

/// Returns `true` if a file is a document that describes the current repository.
fn is_document(path: &str) -> bool {
    let lower = path.to_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", lower.as_str()));
    let is_other =
        folders.split('/').any(|folder| folder.starts_with('.') || OTHER_DOCUMENTS.contains(&folder))
            || OTHER_NAMES.iter().any(|other| name.starts_with(other));
    is_readme(path) || (is_page(path) && !is_other)
}

/// Returns `true` if a code file is an example.
fn is_example(path: &str) -> bool {
    let mut folders = path.split('/').rev().skip(1);
    let is_code = languages::detect(path, b"").is_some_and(languages::Language::is_code);
    is_code && folders.any(|folder| matches!(folder, "example" | "examples"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::tests::evidence;

    #[test]
    fn documents_and_examples_are_recognised_by_their_paths() {
        let files = [
            ("docs/use.md", ""),
            ("README.md", ""),
            ("CHANGELOG.md", ""),
            ("tests/a.md", ""),
            (".github/x.md", ""),
            ("examples/count.py", ""),
            ("examples/README.md", ""),
            ("shop/cash.py", ""),
            ("tests/test_cash.py", ""),
            ("pyproject.toml", "[project]\nname = \"shop\"\n"),
        ];
        let definitions = [("shop/cash.py", 1, "drawer"), ("tests/test_cash.py", 1, "check")];
        let questions = Questions::default().with_public_definitions();
        let found = inventory(&evidence(questions, &files, &definitions));
        assert_eq!(found.documents, ["README.md", "docs/use.md", "examples/README.md"]);
        assert_eq!(found.examples, ["examples/count.py"]);
        assert_eq!(found.definitions, ["shop/cash.py"]);
        assert_eq!(found.manifests, ["pyproject.toml"]);
        assert_eq!((found.files_total, found.files.len()), (10, 10));
        let python = found.files.iter().find(|file| file.path == "shop/cash.py").unwrap();
        assert_eq!(python.language.as_deref(), Some("python"));
    }
}
