//! The worker `link`: turns drafts into patches. The site itself is not changed before they are published.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    LINK, NewArtifact, PAGE_PLAN, SiteChange, SiteView, WorkItem, Worker, WorkerError, WorkerInput,
    WorkerOutput,
};
use crate::allowed_paths::AllowedPaths;
use crate::evidence::Questions;
use crate::forms::{DRAFTS, PATCH_BUNDLE, PagePlan, PlanPage, required};
use crate::patch::Patch;
use crate::published::refreshed;
use crate::report::stable_json;

/// The worker.
pub static WORKER: Worker = Worker {
    name: LINK,
    version: 2,
    artifacts: &[PAGE_PLAN, DRAFTS],
    site: SiteView::Base,
    parses: false,
    asks: |_| Questions::default(),
    run,
};

/// For people: the changes by the patches.
const DIFF_REPORT: &str = "reports/diff_report.md";

fn run(input: &WorkerInput<'_>) -> Result<WorkerOutput, WorkerError> {
    let item = &input.item;
    let plan: PagePlan = required(item, LINK, PAGE_PLAN)?;
    let mut patches = Vec::new();
    for page in &plan.pages {
        patches.extend(patch_of(item, page)?);
    }
    require_allowed(item, patches.iter().map(Patch::path))?;
    let changes = applied(item, &patches)?;
    let bundle: Vec<Value> =
        patches.iter().map(|patch| json!({ "id": patch.id(), "patch": patch })).collect();
    Ok(WorkerOutput {
        artifacts: vec![
            NewArtifact::json(
                PATCH_BUNDLE,
                "patch_bundle",
                stable_json(&json!({ "schema_version": "1.0", "patches": bundle })),
            ),
            NewArtifact::markdown(DIFF_REPORT, diff_report(item, &patches, &changes)),
        ],
        patch_ids: patches.iter().map(Patch::id).collect(),
        changes,
        report: None,
    })
}

/// The patch that puts a draft into the site; `None` if the site has it already.
fn patch_of(item: &WorkItem<'_>, page: &PlanPage) -> Result<Option<Patch>, WorkerError> {
    let draft = page.draft();
    let text = item.text(&draft).ok_or_else(|| WorkerError::missing(LINK, &draft))?;
    let path = page.output_path.as_str();
    match item.site.read(path) {
        None => Ok(Some(Patch::CreateFile { path: path.to_owned(), content: text.to_owned() })),
        Some(bytes) => {
            let before =
                String::from_utf8(bytes).map_err(|_| conflict(path, "the page is not UTF-8 text"))?;
            Ok(refreshed(&before, text).and_then(|after| Patch::between(path, &before, &after)))
        }
    }
}

/// Refuses to change files outside of the paths that may be changed.
pub(super) fn require_allowed<'p>(
    item: &WorkItem<'_>,
    paths: impl IntoIterator<Item = &'p str>,
) -> Result<(), WorkerError> {
    let violation = |path: &str, why: &str| {
        WorkerError::new("ALLOWED_PATHS_VIOLATION", format!("`{path}` must not be changed: {why}."))
    };
    let allowed_paths = AllowedPaths::new(&item.config.allowed_paths)
        .map_err(|(path, problem)| violation(&path, &format!("the allowed path {problem}")))?;
    match allowed_paths.first_outside(paths) {
        Some(path) => Err(violation(path, "it lies outside the allowed paths")),
        None => Ok(()),
    }
}

/// The changed files, each once, sorted by path.
fn applied(item: &WorkItem<'_>, patches: &[Patch]) -> Result<Vec<SiteChange>, WorkerError> {
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    for patch in patches {
        let path = patch.path();
        let before = files.remove(path).or_else(|| item.site_text(path));
        let after = patch.apply(before.as_deref()).map_err(|error| conflict(path, &error.to_string()))?;
        files.insert(path, after);
    }
    let change =
        |(path, text): (&str, String)| SiteChange { path: path.to_owned(), bytes: text.into_bytes() };
    Ok(files.into_iter().map(change).collect())
}

fn conflict(path: &str, why: &str) -> WorkerError {
    WorkerError::new("PATCH_CONFLICT", format!("The patch of `{path}` cannot be applied: {why}."))
}

fn diff_report(item: &WorkItem<'_>, patches: &[Patch], changes: &[SiteChange]) -> String {
    let mut report = String::from("# Changes of the site\n");
    if changes.is_empty() {
        report.push_str("\nThe site has all pages already.\n");
    }
    for change in changes {
        let own: Vec<&Patch> = patches.iter().filter(|patch| patch.path() == change.path).collect();
        let before = item.site_text(&change.path).map_or(0, |text| text.lines().count());
        let after = String::from_utf8_lossy(&change.bytes).lines().count();
        report.push_str(&format!("\n## `{}`\n\n- lines before: {before}, after: {after}\n", change.path));
        for patch in own {
            report.push_str(&format!("- {} {}\n", patch.kind(), patch.id()));
        }
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::scene::{Scene, config};

    const START: &str = "content/docs/shop/getting-started.md";

    #[test]
    fn drafts_become_new_pages() {
        let mut scene = Scene::new();
        scene.link();
        assert_eq!(
            scene.changed,
            [START, "content/docs/reference/shop/api.md"]
                .map(str::to_owned)
                .into_iter()
                .rev()
                .collect::<Vec<_>>()
        );
        let bundle = scene.json(PATCH_BUNDLE);
        assert_eq!(bundle["patches"][0]["patch"]["kind"], "create_file", "{bundle:#}");
        let report = String::from_utf8(scene.artifacts[DIFF_REPORT].clone()).unwrap();
        assert!(report.contains(START) && report.contains("create_file"), "{report}");
    }

    #[test]
    fn a_later_run_changes_only_what_differs() {
        let mut first = Scene::new();
        first.link();
        let mut second = first.refreshed();
        second.link();
        assert!(second.changed.is_empty(), "nothing changed: {:?}", second.changed);
        let mut third = first.refreshed();
        let readme =
            crate::worker::scene::README.replace("Reads sales", "ShopKit does not print.\n\nReads sales");
        third.write("README.md", &readme);
        third.link();
        let bundle = third.json(PATCH_BUNDLE);
        assert_eq!(bundle["patches"].as_array().unwrap().len(), 2, "both pages list limitations: {bundle:#}");
        assert_eq!(bundle["patches"][0]["patch"]["kind"], "update_file_range", "{bundle:#}");
        assert!(third.page(START).contains("ShopKit does not print."));
    }

    #[test]
    fn pages_outside_of_the_allowed_paths_are_refused() {
        let mut scene = Scene::new();
        scene.link();
        scene.config = config(&json!({ "allowed_paths": ["content/docs-x"] }));
        assert_eq!(scene.run(&WORKER, "").unwrap_err().0.code, "ALLOWED_PATHS_VIOLATION");
    }

    #[test]
    fn without_a_draft_nothing_is_linked() {
        let mut scene = Scene::new();
        scene.link();
        scene.artifacts.remove("drafts/docs/getting-started.md");
        assert_eq!(scene.run(&WORKER, "").unwrap_err().0.code, "LINK_MISSING_INPUT");
    }
}
